"""Each request field does in the running program what its row in the field table says."""
import json
import shutil
import urllib.error
import urllib.request

import pytest

from conftest import GOLDEN, TINY_MOE, Server, module_server

server = module_server(TINY_MOE, "--max-model-len", "1024", "--max-num-seqs", "16", "--generation-config", "vllm",
                       "--trust-request-chat-template")
CHATS = json.loads((GOLDEN / "qwen3_5_moe_tiny" / "goldens_bf16" / "chat_replies.json").read_text())
HELLO = CHATS[1]
STORY = next(c for c in CHATS if "story about the sea" in c["messages"][0]["content"])
IM_END, ENDOFTEXT = 1026, 1024


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The random tiny llama, with a tokenizer that puts a BOS in front."""
    folder = tmp_path_factory.mktemp("models") / "llama"
    shutil.copytree(GOLDEN / "tiny_llama", folder)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    bos, sequence = {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing", "single": [bos, sequence], "pair": [bos, sequence, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [300], "tokens": ["<|endoftext|>"]}}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    server = Server(folder, "--max-model-len", "256", "--generation-config", "vllm", log_path=folder.parent / "server.log").wait_ready()
    yield server
    assert server.stop() == 0, server.log


def post(server, path, body, headers=None):
    request = urllib.request.Request(server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=300) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{error.code}: {error.read().decode()}") from None


def complete(server, **fields):
    body = {"prompt": HELLO["prompt"], "max_tokens": 12, "temperature": 0, "return_token_ids": True, **fields}
    return json.loads(post(server, "/v1/completions", body))


def choice(server, **fields):
    return complete(server, **fields)["choices"][0]


def chat(server, **fields):
    body = {"messages": HELLO["messages"], "max_tokens": 64, "temperature": 0, "chat_template_kwargs": {"enable_thinking": False}, **fields}
    return json.loads(post(server, "/v1/chat/completions", body))


def render(server, **fields):
    return json.loads(post(server, "/v1/chat/completions/render", {"messages": HELLO["messages"], **fields}))["prompt"]


def events(text):
    lines = [line for line in text.split("\n\n") if line.startswith("data: ")]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


GREEDY = HELLO["reply_ids"]


def test_greedy_is_the_golden(server):
    assert choice(server)["token_ids"] == GREEDY[:12]


@pytest.mark.parametrize("field", [{"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1.0}])
def test_narrow_sampling_is_greedy(server, field):
    assert choice(server, temperature=2, seed=1, **field)["token_ids"] == GREEDY[:12]


def test_wide_sampling_is_not_greedy(server):
    assert choice(server, temperature=2, seed=1, max_tokens=40, ignore_eos=True)["token_ids"][:14] != GREEDY[:14]


@pytest.mark.parametrize("field", [{"presence_penalty": 2}, {"frequency_penalty": 2}, {"repetition_penalty": 5}])
def test_penalties_change_the_text(llama, field):
    ask = dict(prompt="Once upon a time", max_tokens=100, ignore_eos=True)
    assert choice(llama, **ask, **field)["token_ids"] != choice(llama, **ask)["token_ids"]


def test_stop_token_ids(server):
    got = choice(server, stop_token_ids=[GREEDY[5]])
    assert got["token_ids"] == GREEDY[: GREEDY.index(GREEDY[5]) + 1]
    assert (got["finish_reason"], got["stop_reason"]) == ("stop", GREEDY[5])


def test_include_stop_string(server):
    whole = HELLO["result"]["content"]
    stop = whole[8:14]
    assert choice(server, max_tokens=30, stop=stop, include_stop_str_in_output=True)["text"].endswith(stop)
    assert choice(server, max_tokens=30, stop=stop)["text"] == whole[: whole.index(stop)]


def test_min_tokens(server):
    assert len(choice(server, max_tokens=40)["token_ids"]) == len(GREEDY)
    assert len(choice(server, max_tokens=40, min_tokens=len(GREEDY) + 5)["token_ids"]) >= len(GREEDY) + 5


def test_logit_bias(server):
    assert choice(server, max_tokens=4, logit_bias={"70": 100}, ignore_eos=True)["token_ids"] == [70] * 4


def test_allowed_token_ids(server):
    assert set(choice(server, allowed_token_ids=[70, 71], ignore_eos=True)["token_ids"]) <= {70, 71}


def test_bad_words(server):
    assert "help" in choice(server)["text"]
    assert "help" not in choice(server, bad_words=["help"], max_tokens=40)["text"]


def test_prompt_logprobs(server):
    got = choice(server, prompt_logprobs=2)
    rows = got["prompt_logprobs"]
    assert rows[0] is None and len(rows) == len(HELLO["prompt_ids"])
    for row, token in zip(rows[1:], got["prompt_token_ids"][1:]):
        assert str(token) in row and 2 <= len(row) <= 3
        assert row[str(token)]["logprob"] <= 0 and row[str(token)]["rank"] >= 1
    assert chat(server, prompt_logprobs=0)["prompt_logprobs"][0] is None


def test_special_tokens_shown(server):
    ask = dict(max_tokens=2, logit_bias={"1025": 100}, ignore_eos=True)
    assert choice(server, **ask)["text"] == ""
    assert choice(server, **ask, skip_special_tokens=False)["text"] == "<|im_start|>" * 2


def test_stream_interval(server):
    ask = dict(stream=True, prompt=STORY["prompt"], max_tokens=41, ignore_eos=True, return_token_ids=False)

    def count(**fields):
        body = {"temperature": 0, **ask, **fields}
        return len(events(post(server, "/v1/completions", body)))

    assert count(stream_interval=10) < 10 < count()


def test_add_special_tokens(llama):
    with_bos = complete(llama, prompt="hi", max_tokens=1)["choices"][0]["prompt_token_ids"]
    without = complete(llama, prompt="hi", max_tokens=1, add_special_tokens=False)["choices"][0]["prompt_token_ids"]
    assert with_bos == [300] + without


def test_truncate_prompt_tokens(server):
    ids = list(range(100, 140))
    for fields, left in (({}, ids[-5:]), ({"truncation_side": "right"}, ids[:5])):
        assert choice(server, prompt=ids, max_tokens=1, truncate_prompt_tokens=5, **fields)["prompt_token_ids"] == left
    assert complete(server, prompt=[100] * 2000, max_tokens=4, truncate_prompt_tokens=-1)["usage"]["prompt_tokens"] == 1020


def test_request_id(server):
    assert complete(server, request_id="mine")["id"] == "cmpl-mine"
    body = {"prompt": "a", "max_tokens": 1}
    assert json.loads(post(server, "/v1/completions", body, {"X-Request-Id": "theirs"}))["id"] == "cmpl-theirs"


def test_tokens_as_token_ids(server):
    assert choice(server, logprobs=0, return_tokens_as_token_ids=True)["logprobs"]["tokens"][0] == f"token_id:{GREEDY[0]}"


def test_return_prompt_text(server):
    assert chat(server, return_prompt_text=True)["prompt_text"] == HELLO["prompt"]
    assert chat(server)["prompt_text"] is None


def test_max_completion_tokens_wins(server):
    assert chat(server, max_completion_tokens=3, max_tokens=9)["usage"]["completion_tokens"] == 3


def test_lists_of_prompts(server):
    body = complete(server, prompt=[HELLO["prompt"], HELLO["prompt_ids"]], echo=True)
    assert [c["index"] for c in body["choices"]] == [0, 1]
    assert [c["token_ids"] for c in body["choices"]] == [GREEDY[:12]] * 2
    assert body["choices"][0]["text"].startswith(HELLO["prompt"])
    assert body["usage"]["prompt_tokens"] == 2 * len(HELLO["prompt_ids"])


def test_continue_final_message(server):
    messages = HELLO["messages"] + [{"role": "assistant", "content": "Hello! How"}]
    got = chat(server, messages=messages, continue_final_message=True, echo=True)["choices"][0]["message"]["content"]
    assert got.startswith("Hello! How")
    assert render(server, messages=messages, continue_final_message=True).endswith("Hello! How")
    assert render(server, messages=messages[:1], add_generation_prompt=False).endswith("<|im_end|>\n")


def test_thinking_switches(server):
    off, on = "<think>\n\n</think>\n\n", "<think>\n"
    for fields in ({"chat_template_kwargs": {"enable_thinking": False}}, {"enable_thinking": False}, {"thinking": {"type": "disabled"}},
                   {"reasoning_effort": "none"}, {"reasoning": {"effort": "none"}}):
        assert render(server, **fields).endswith(off), fields
    for fields in ({}, {"enable_thinking": True}, {"reasoning_effort": "high"}, {"thinking": {"type": "enabled"}},
                   {"chat_template_kwargs": {"enable_thinking": True}, "enable_thinking": False}):
        assert render(server, **fields).endswith("assistant\n" + on), fields


def test_request_chat_template(server):
    assert render(server, chat_template="{{ messages[0].content }}|{{ x }}", chat_template_kwargs={"x": 5}) == "Hello!|5"


def test_documents_reach_the_template(server):
    template = "{% for d in documents %}[{{ d.title }}]{% endfor %}"
    assert render(server, chat_template=template, documents=[{"title": "a"}, {"title": "b"}]) == "[a][b]"


def test_tokenize(server):
    got = json.loads(post(server, "/tokenize", {"prompt": HELLO["prompt"], "return_token_strs": True}))
    assert got["tokens"] == HELLO["prompt_ids"] and got["count"] == len(got["tokens"]) == len(got["token_strs"])
    assert got["max_model_len"] == 1024
    chat_ids = json.loads(post(server, "/tokenize", {"messages": HELLO["messages"], "chat_template_kwargs": {"enable_thinking": False}}))
    assert chat_ids["tokens"] == HELLO["prompt_ids"]
    assert json.loads(post(server, "/detokenize", {"tokens": HELLO["prompt_ids"]}))["prompt"] == HELLO["prompt"]


def test_streams_equal_the_whole(server):
    for case in CHATS:
        if case.get("tools"):
            continue
        ask = dict(messages=case["messages"], chat_template_kwargs=case["kwargs"], max_tokens=300)
        whole = chat(server, **ask)
        body = {"temperature": 0, "stream": True, "stream_options": {"include_usage": True}, **ask}
        chunks = events(post(server, "/v1/chat/completions", body))
        text = "".join(c["delta"].get("content", "") for e in chunks for c in e["choices"])
        assert text == whole["choices"][0]["message"]["content"]
        assert chunks[-1]["usage"] == whole["usage"]
        assert whole["choices"][0]["message"]["content"] == case["reply"].removesuffix("<|im_end|>"), case["messages"]
