"""Pretrained models through the running server: token ids, first-token log-probabilities, greedy texts, perplexity.

What must be equal and how near is said in tests/golden/real_models/README.md. The GGUF files are computed with 8-bit
activations; the same weights written as F32 safetensors are computed in F32 and must give every id.
"""
import hashlib
import json

import pytest

from conftest import GOLDEN, MODELS, Server, client, need_model

REAL = GOLDEN / "real_models"
MODELS_UNDER_TEST = {
    "smollm2": ("SmolLM2-135M-Instruct.Q4_1.gguf", "generate.smollm2-135m-instruct-q4_1.json", "smollm2", ["count", "long_600"]),
    "qwen2.5-coder": ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "generate.qwen2.5-coder-0.5b-instruct-q4_k_m.json",
                      "qwen2.5-coder", ["chat_chatml", "count"]),
}


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


class Case:
    def __init__(self, name, form, server, goldens):
        self.name, self.form, self.server, self.goldens = name, form, server, goldens
        self.api = client(server)
        self.model = self.api.models.list().data[0].id
        self.exact = form == "f32"

    def complete(self, ids, **kwargs):
        extra = {"return_token_ids": True, "return_tokens_as_token_ids": True, **kwargs.pop("extra", {})}
        return self.api.completions.create(model=self.model, prompt=ids, temperature=0, extra_body=extra, **kwargs).choices[0]


@pytest.fixture(scope="module", params=[(m, f) for m in MODELS_UNDER_TEST for f in ("gguf", "f32")], ids=lambda p: "-".join(p))
def real(request, tmp_path_factory):
    name, form = request.param
    file, golden, _, _ = MODELS_UNDER_TEST[name]
    path = need_model(file)
    goldens = json.loads((REAL / golden).read_text())
    assert sha256(path) == goldens["model_sha256"]
    if form == "f32":
        path = MODELS / (path.stem + ".f32")
        if not path.exists():
            pytest.skip(f"skipped: no model folder {path.name} in {MODELS} (tools/fetch_models.py makes it)")
    server = Server(path, "--generation-config", "vllm", "--max-model-len", "2048", "--max-num-seqs", "4",
                    log_path=tmp_path_factory.mktemp(name) / "server.log").wait_ready()
    yield Case(name, form, server, goldens)
    assert server.stop() == 0, server.log


def test_first_token_logprobs(real):
    tolerance = 0.002 if real.exact else 0.7
    for name, case in real.goldens["cases"].items():
        got = real.complete(case["prompt_ids"], max_tokens=1, logprobs=20).logprobs.top_logprobs[0]
        for token, logprob in case["exact"]["first_top5"]:
            key = f"token_id:{token}"
            if real.exact:
                assert key in got, (name, token)
            if key in got:
                assert abs(got[key] - logprob) < tolerance, (name, token, got[key], logprob)
        if case["exact"]["gap"][0] > 1:
            assert max(got, key=got.get) == f"token_id:{case['exact']['first_top5'][0][0]}", name


def test_greedy_text(real):
    safe = MODELS_UNDER_TEST[real.name][3]
    for name, case in real.goldens["cases"].items():
        want, gaps = case["exact"]["ids"], case["exact"]["gap"]
        if not real.exact and name not in safe:
            first = next((i for i, gap in enumerate(gaps) if gap < 0.6), len(want))
            want = want[:first]
        if not want:
            continue
        got = real.complete(case["prompt_ids"], max_tokens=len(want)).token_ids
        assert got[: len(want)] == want, name


def test_mean_nll_of_a_long_text(real):
    text = json.loads((REAL / "tokens.json").read_text())
    ids = text["vocab"][MODELS_UNDER_TEST[real.name][2]]["ids"]["long_600"][0]
    golden = real.goldens["long_600_nll_exact"]
    rows = real.complete(ids, max_tokens=1, extra={"prompt_logprobs": 0}).prompt_logprobs
    nll = [-rows[i][str(ids[i])]["logprob"] for i in range(1, len(ids))]
    mean = sum(nll) / len(nll)
    if real.exact:
        assert nll[:24] == pytest.approx(golden["nll_first_24"], abs=0.005)
        assert nll[-24:] == pytest.approx(golden["nll_last_24"], abs=0.005)
    assert abs(mean - golden["mean_nll"]) < (0.0005 if real.exact else 0.05), (mean, golden["mean_nll"])


def test_token_ids(real):
    data = json.loads((REAL / "tokens.json").read_text())
    vocab = data["vocab"][MODELS_UNDER_TEST[real.name][2]]
    import urllib.request

    def post(path, body):
        request = urllib.request.Request(real.server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    plain_differs = vocab.get("hf_plain_where_different", {})
    for name, text in data["texts"].items():
        if name in plain_differs or name == "bos_eos_literal" or not text:
            continue
        got = post("/tokenize", {"prompt": text, "add_special_tokens": True})["tokens"]
        assert got == vocab["ids"][name][0], name
        assert post("/detokenize", {"tokens": got})["prompt"] == text, name


def test_a_chat_answer_reads_as_an_answer(real):
    if real.name != "qwen2.5-coder":
        pytest.skip("skipped: only the larger model answers reliably")
    reply = real.api.chat.completions.create(
        model=real.model, messages=[{"role": "user", "content": "What is the capital of Japan? Answer with one word."}],
        temperature=0, max_tokens=8)
    assert "Tokyo" in reply.choices[0].message.content
    assert reply.choices[0].finish_reason == "stop"
