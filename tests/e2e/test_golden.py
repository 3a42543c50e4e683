"""The official code's values through the running server: log-probabilities, greedy continuations, whole chats."""
import json
import math

import pytest

import safetensors_io
from conftest import GOLDEN, TINY_DENSE, TINY_FP8, TINY_MOE, Server, client

CHECKPOINTS = {
    "moe_bf16": (TINY_MOE, GOLDEN / "qwen3_5_moe_tiny" / "goldens_bf16"),
    "moe_fp8": (TINY_FP8, GOLDEN / "qwen3_5_moe_tiny" / "goldens_fp8"),
    "dense": (TINY_DENSE, GOLDEN / "qwen3_5_dense_tiny" / "goldens"),
}
BACKENDS = ["cpu", "ref"]


@pytest.fixture(scope="module", params=[(c, b) for c in CHECKPOINTS for b in BACKENDS], ids=lambda p: "-".join(p))
def golden(request, tmp_path_factory):
    yield from served(*request.param, tmp_path_factory)


def served(name, backend, tmp_path_factory):
    model, folder = CHECKPOINTS[name]
    server = Server(model, "--device", backend, "--max-logprobs", "-1", "--generation-config", "vllm",
                    "--max-model-len", "1024", "--max-num-seqs", "8", "--max-num-batched-tokens", "64",
                    log_path=tmp_path_factory.mktemp(name) / "server.log").wait_ready()
    yield server, json.loads((folder / "goldens.json").read_text()), safetensors_io.read(folder / "goldens.safetensors"), folder
    assert server.stop() == 0, server.log


def log_softmax(logits):
    top = max(logits)
    z = top + math.log(sum(math.exp(x - top) for x in logits))
    return [x - z for x in logits]


def test_greedy_continuations_and_first_logprobs(golden):
    server, goldens, tensors, _ = golden
    check_continuations(server, goldens, tensors, "last_logits.", 2e-4)


def test_fp8_activations(tmp_path_factory):
    """Rounding to E4M3 is a step function: right implementations move logits by up to 0.34 (tests/golden/README.md)."""
    for server, goldens, tensors, _ in served("moe_fp8", "ref-w8a8", tmp_path_factory):
        check_continuations(server, goldens, tensors, "w8a8.last_logits.", 1.0)


def check_continuations(server, goldens, tensors, logits, tolerance):
    api = client(server)
    model = api.models.list().data[0].id
    for name, prompt in goldens["prompts"].items():
        want_ids = prompt.get("greedy")
        reply = api.completions.create(
            model=model, prompt=prompt["ids"], max_tokens=len(want_ids) if want_ids else 1, temperature=0, logprobs=20,
            extra_body={"ignore_eos": True, "return_token_ids": True, "return_tokens_as_token_ids": True})
        choice = reply.choices[0]
        if want_ids:
            assert choice.token_ids == want_ids, name
        want = log_softmax(list(safetensors_io.floats(tensors[logits + name])))
        got = choice.logprobs.top_logprobs[0]
        assert len(got) >= 20
        for token, logprob in got.items():
            assert token.startswith("token_id:")
            assert abs(logprob - want[int(token[9:])]) < tolerance, (name, token)


def test_prompt_logprobs_at_every_position(golden):
    server, goldens, tensors, _ = golden
    api = client(server)
    model = api.models.list().data[0].id
    for key in [k for k in tensors if k.startswith("all_logits.")]:
        ids = goldens["prompts"][key.removeprefix("all_logits.")]["ids"]
        if len(ids) < 2:
            continue
        reply = api.completions.create(model=model, prompt=ids, max_tokens=1, temperature=0,
                                       extra_body={"prompt_logprobs": 1, "ignore_eos": True})
        rows = reply.choices[0].prompt_logprobs
        assert rows[0] is None and len(rows) == len(ids)
        _, (n, vocab), _ = tensors[key]
        values = safetensors_io.floats(tensors[key])
        for i in range(1, n):
            want = log_softmax(list(values[(i - 1) * vocab : i * vocab]))
            assert abs(rows[i][str(ids[i])]["logprob"] - want[ids[i]]) < 2e-4, (key, i)


def test_chat_replies(golden):
    server, _, _, folder = golden
    api = client(server)
    model = api.models.list().data[0].id
    cases = json.loads((folder / "chat_replies.json").read_text())
    checked = 0
    for case in cases:
        if case.get("tools"):
            continue  # tools are refused by this version; their prompts are checked by /v1/completions below
        reply = api.chat.completions.create(
            model=model, messages=case["messages"], temperature=0, max_tokens=len(case["reply_ids"]) + 8,
            extra_body={"chat_template_kwargs": case["kwargs"], "skip_special_tokens": False, "return_token_ids": True})
        choice = reply.choices[0]
        assert choice.token_ids == case["reply_ids"], case["messages"]
        assert reply.prompt_token_ids == case["prompt_ids"]
        assert choice.finish_reason == "stop"
        assert reply.usage.completion_tokens == len(case["reply_ids"])
        checked += 1
    assert checked > 5


def test_rendered_prompts_with_tools_give_the_same_reply(golden):
    server, _, _, folder = golden
    api = client(server)
    model = api.models.list().data[0].id
    for case in json.loads((folder / "chat_replies.json").read_text()):
        reply = api.completions.create(model=model, prompt=case["prompt"], temperature=0, max_tokens=len(case["reply_ids"]) + 8,
                                       extra_body={"return_token_ids": True})
        assert reply.choices[0].token_ids == case["reply_ids"]
        assert reply.usage.prompt_tokens == len(case["prompt_ids"])
