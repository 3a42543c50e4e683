"""Each working option of `hearth serve` has an effect that can be seen in the real program. The table in
src/cli/serve_flags_table.cpp names these tests; `make lint` checks that they exist."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import HEARTH, TINY_DENSE, TINY_FP8, TINY_MOE, client, free_port

HELLO = {"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 64, "temperature": 0}
QUIET = ["--max-model-len", "512", "--max-num-seqs", "4"]


def request(server, path, body=None, headers=None, method=None):
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    r = urllib.request.Request(server.url + path, data, {"Content-Type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(r, timeout=60) as reply:
            return reply.status, dict(reply.headers), reply.read()
    except urllib.error.HTTPError as e:
        return e.code, dict(e.headers), e.read()


def post(server, path, body, headers=None):
    status, _, text = request(server, path, body, headers)
    assert status == 200, (status, text)
    return json.loads(text)


def stream(server, path, body):
    _, _, text = request(server, path, {**body, "stream": True})
    return [json.loads(line[6:]) for line in text.decode().split("\n") if line.startswith("data: ") and line != "data: [DONE]"]


def content(answer):
    return answer["choices"][0]["message"]["content"]


def card(server):
    return json.loads(request(server, "/v1/models")[2])["data"][0]


def dry_run(*args, env=None, code=0):
    result = subprocess.run([str(HEARTH), "serve", *map(str, args), "--dry-run"], capture_output=True, text=True, timeout=60,
                            env={**os.environ, **(env or {})})
    assert result.returncode == code, result.stderr
    return result.stderr


def blocks(plan):
    return int(re.search(r"(\d+) blocks of", plan).group(1))


def planned_len(plan):
    return int(re.search(r"max_model_len (\d+)", plan).group(1))


# ---- model and weights ------------------------------------------------------------------------------------------------------


def test_model_option(tmp_path):
    assert str(TINY_DENSE) in dry_run("--model", TINY_DENSE)
    # Without a verb, as an argument list of the Python server.
    result = subprocess.run([str(HEARTH), "--model", str(TINY_DENSE), "--dry-run"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0 and "qwen3_5" in result.stderr
    assert "is ignored" in dry_run(TINY_DENSE, "--model", tmp_path)


def test_config_file(tmp_path):
    file = tmp_path / "config.yaml"
    file.write_text(f"model: {TINY_DENSE}\nmax_model_len: 256\nmax-num-seqs: 3\n")
    assert planned_len(dry_run("--config", file)) == 256
    assert planned_len(dry_run("--config", file, "--max-model-len", "128")) == 128
    file.write_text("no-such-option: 1\n")
    assert "no-such-option" in dry_run(TINY_DENSE, "--config", file, code=2)
    assert "Is a directory" in dry_run(TINY_DENSE, "--config", tmp_path, code=2)
    assert "No such file" in dry_run(TINY_DENSE, "--config", tmp_path / "none.yaml", code=2)
    for text in ("hf-overrides: &a {x: *a}", "&a [*a]: 1", "[1]: 2", "model: {", "\0", "- a"):
        file.write_text(text)
        dry_run(TINY_DENSE, "--config", file, code=2)


def test_served_model_name(serve):
    s = serve(TINY_DENSE, *QUIET, "--served-model-name", "first", "second")
    assert [m["id"] for m in json.loads(request(s, "/v1/models")[2])["data"]] == ["first", "second"]
    assert post(s, "/v1/chat/completions", {**HELLO, "model": "second"})["model"] == "first"
    assert request(s, "/v1/chat/completions", {**HELLO, "model": "third"})[0] == 404


def test_empty_model_name():
    assert "--served-model-name" in dry_run(TINY_DENSE, "--served-model-name", "", code=2)


def test_tokenizer(serve, tmp_path):
    other = tmp_path / "tokenizer"
    other.mkdir()
    tokenizer = json.loads((TINY_DENSE / "tokenizer.json").read_text())
    tokenizer["model"]["merges"] = []
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    shutil.copy(TINY_DENSE / "tokenizer_config.json", other)
    s = serve(TINY_DENSE, *QUIET, "--tokenizer", other)
    own = subprocess.run([str(HEARTH), "tokenize", str(TINY_DENSE), "--ids", "Hello!"], capture_output=True, text=True)
    assert post(s, "/tokenize", {"prompt": "Hello!"})["count"] > len(json.loads(own.stdout))


def hub(root, name, revisions):
    folder = root / ("models--" + name.replace("/", "--"))
    for revision, model in revisions.items():
        commit = revision[0] * 40
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        (folder / "refs" / revision).write_text(commit)
        (folder / "snapshots").mkdir(exist_ok=True)
        (folder / "snapshots" / commit).symlink_to(model)


def test_hub_cache(tmp_path):
    hub(tmp_path, "org/tiny", {"main": TINY_DENSE, "experts": TINY_MOE})
    env = {"HF_HUB_CACHE": str(tmp_path)}
    assert "qwen3_5 (" in dry_run("org/tiny", env=env)
    assert "qwen3_5_moe (" in dry_run("org/tiny", "--revision", "experts", env=env)
    assert "qwen3_5 (" in dry_run("org/tiny", "--download-dir", tmp_path)
    assert "no revision 'old'" in dry_run("org/tiny", "--revision", "old", env=env, code=1)
    dry_run(TINY_DENSE, "--tokenizer", "org/tiny", "--tokenizer-revision", "main", env=env)
    assert "no revision 'old'" in dry_run(TINY_DENSE, "--tokenizer", "org/tiny", "--tokenizer-revision", "old", env=env, code=1)


def test_load_format():
    dry_run(TINY_DENSE, "--load-format", "safetensors")
    assert "folder of safetensors" in dry_run(TINY_DENSE, "--load-format", "gguf", code=2)
    assert "fastsafetensors" in dry_run(TINY_DENSE, "--load-format", "fastsafetensors")
    assert "auto, safetensors, gguf or dummy" in dry_run(TINY_DENSE, "--load-format", "pickle", code=2)


def test_made_up_weights(serve, tmp_path):
    """--load-format dummy needs no weights on disk, and the seed decides what they are."""
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "chat_template.jinja"):
        if (TINY_FP8 / name).exists():
            shutil.copy(TINY_FP8 / name, tmp_path / name)
    ask = {"prompt": [5, 6, 7], "max_tokens": 12, "temperature": 0, "ignore_eos": True, "return_token_ids": True}
    ids = lambda seed: post(serve(tmp_path, *QUIET, "--load-format", "dummy", "--seed", seed), "/v1/completions", ask)["choices"][0]["token_ids"]
    first = ids("1")
    assert len(first) == 12 and ids("1") == first and ids("2") != first


def test_dtype():
    assert "KV cache f32" in dry_run(TINY_DENSE, "--dtype", "float32")
    assert "KV cache bf16" in dry_run(TINY_DENSE, "--dtype", "bfloat16")
    assert "KV cache f16" in dry_run(TINY_DENSE, "--dtype", "half")


def test_quantization():
    dry_run(TINY_FP8, "--quantization", "fp8")
    assert "unquantised" in dry_run(TINY_DENSE, "--quantization", "fp8", code=2)
    assert "fp8" in dry_run(TINY_FP8, "-q", "awq", code=2)


def test_max_model_len(serve):
    s = serve(TINY_DENSE, "--max-model-len", "64")
    assert card(s)["max_model_len"] == 64
    status, _, text = request(s, "/v1/completions", {"prompt": [1] * 64, "max_tokens": 1})
    assert status == 400 and b"maximum context length" in text
    assert "max_position_embeddings" in dry_run(TINY_DENSE, "--max-model-len", "8192", code=2)
    assert planned_len(dry_run(TINY_DENSE, "--max-model-len", "8192", env={"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})) == 8192
    assert planned_len(dry_run(TINY_DENSE, "--max-model-len", "auto")) == 4096
    assert planned_len(dry_run(TINY_DENSE, "--max-model-len", "-1", "--kv-cache-memory-bytes", "8M")) < 4096


def test_hf_config_path(tmp_path):
    config = json.loads((TINY_DENSE / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 300
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert planned_len(dry_run(TINY_DENSE, "--hf-config-path", tmp_path)) == 300


def test_hf_overrides():
    assert planned_len(dry_run(TINY_DENSE, "--hf-overrides", '{"max_position_embeddings": 200}')) == 200
    assert planned_len(dry_run(TINY_DENSE, "--hf-overrides.max_position_embeddings", "100")) == 100


def test_rope_options(serve):
    plain, other = serve(TINY_DENSE, *QUIET), serve(TINY_DENSE, *QUIET, "--rope-theta", "100")
    body = {"prompt": list(range(40, 100)), "max_tokens": 1, "temperature": 0, "logprobs": 1}
    value = lambda s: post(s, "/v1/completions", body)["choices"][0]["logprobs"]["token_logprobs"][0]
    assert value(plain) != value(other)
    assert "telepathic" in dry_run(TINY_DENSE, "--rope-scaling", '{"rope_type": "telepathic", "factor": 2}', code=1)


def test_generation_config(serve, tmp_path):
    (tmp_path / "generation_config.json").write_text('{"max_new_tokens": 3}')
    body = {k: v for k, v in HELLO.items() if k != "max_tokens"}
    assert post(serve(TINY_DENSE, *QUIET, "--generation-config", tmp_path), "/v1/chat/completions", body)["usage"]["completion_tokens"] == 3
    assert post(serve(TINY_DENSE, *QUIET, "--generation-config", "vllm"), "/v1/chat/completions", body)["usage"]["completion_tokens"] > 3


def test_override_generation_config(serve):
    s = serve(TINY_DENSE, *QUIET, "--override-generation-config", '{"max_new_tokens": 2}')
    body = {k: v for k, v in HELLO.items() if k != "max_tokens"}
    assert post(s, "/v1/chat/completions", body)["usage"]["completion_tokens"] == 2


def test_seed(serve):
    body = {"prompt": "The", "max_tokens": 24, "temperature": 2.0, "top_k": 0, "top_p": 1.0}
    texts = [post(serve(TINY_DENSE, *QUIET, "--seed", seed), "/v1/completions", body)["choices"][0]["text"] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_max_logprobs(serve):
    s = serve(TINY_DENSE, *QUIET, "--max-logprobs", "3")
    body = {"prompt": "The", "max_tokens": 1, "logprobs": 3}
    assert len(post(s, "/v1/completions", body)["choices"][0]["logprobs"]["top_logprobs"][0]) >= 3
    assert request(s, "/v1/completions", {**body, "logprobs": 4})[0] == 400


def test_logprobs_mode(serve):
    body = {"prompt": "The", "max_tokens": 1, "logprobs": 1, "temperature": 0.5, "seed": 1}
    value = {m: post(serve(TINY_DENSE, *QUIET, "--logprobs-mode", m), "/v1/completions", body)["choices"][0]["logprobs"]["token_logprobs"][0]
             for m in ("raw_logprobs", "processed_logprobs", "raw_logits", "processed_logits")}
    assert len(set(value.values())) == 4
    assert value["raw_logprobs"] <= 0 and value["processed_logprobs"] <= 0
    assert value["processed_logits"] == pytest.approx(2 * value["raw_logits"], rel=1e-4)


# ---- memory, cache, scheduling ----------------------------------------------------------------------------------------------


def test_gpu_memory_utilization():
    small = blocks(dry_run(TINY_DENSE, "--gpu-memory-utilization", "0.03", "--max-num-seqs", "2048"))
    large = blocks(dry_run(TINY_DENSE, "--gpu-memory-utilization", "0.06", "--max-num-seqs", "2048"))
    assert large > small
    assert "--gpu-memory-utilization" in dry_run(TINY_DENSE, "--gpu-memory-utilization", "0.000001", code=1)


def test_kv_cache_memory_bytes():
    assert blocks(dry_run(TINY_MOE, *QUIET, "--kv-cache-memory-bytes", "6M")) < \
        blocks(dry_run(TINY_MOE, *QUIET, "--kv-cache-memory-bytes", "8M"))


def test_kv_cache_dtype(serve):
    assert "KV cache bf16" in dry_run(TINY_DENSE, "--kv-cache-dtype", "bfloat16")
    token = lambda plan: float(re.search(r"([\d.]+) KiB of KV cache a token", plan).group(1))
    assert token(dry_run(TINY_MOE, "--kv-cache-dtype", "float32")) > token(dry_run(TINY_MOE, "--kv-cache-dtype", "float16"))
    assert "FP8 is not offered yet" in dry_run(TINY_DENSE, "--kv-cache-dtype", "fp8", code=2)
    s = serve(TINY_DENSE, *QUIET, "--kv-cache-dtype", "float16")
    assert "Hello! How can I help you today?" in content(post(s, "/v1/chat/completions", HELLO))


def running_peak(s, count, tokens=60):
    """Most requests seen running while `count` are sent at once."""
    body = {"prompt": [5] * 8, "max_tokens": tokens, "ignore_eos": True, "temperature": 0}
    threads = [threading.Thread(target=post, args=(s, "/v1/completions", body)) for _ in range(count)]
    for t in threads:
        t.start()
    peak = 0
    while any(t.is_alive() for t in threads):
        peak = max(peak, s.metric("vllm:num_requests_running"))
    for t in threads:
        t.join()
    return peak


def test_max_num_seqs(serve):
    s = serve(TINY_DENSE, "--max-model-len", "512", "--max-num-seqs", "2")
    assert running_peak(s, 6) <= 2


def steps_of(s, prompt_tokens):
    before = s.metric("vllm:iteration_tokens_total_count")
    post(s, "/v1/completions", {"prompt": [5] * prompt_tokens, "max_tokens": 1})
    return s.metric("vllm:iteration_tokens_total_count") - before


def test_max_num_batched_tokens(serve):
    s = serve(TINY_DENSE, *QUIET, "--max-num-batched-tokens", "32")
    assert steps_of(s, 256) == 8


def test_chunked_prefill(serve):
    whole = serve(TINY_DENSE, *QUIET, "--no-enable-chunked-prefill", "--max-num-batched-tokens", "512")
    assert steps_of(whole, 256) == 1
    text = dry_run(TINY_DENSE, *QUIET, "--no-enable-chunked-prefill", "--max-num-batched-tokens", "32", code=2)
    assert "--max-num-batched-tokens" in text and "--max-model-len" in text


def test_long_prefill_token_threshold(serve):
    s = serve(TINY_DENSE, *QUIET, "--long-prefill-token-threshold", "64")
    assert steps_of(s, 256) == 4


def test_scheduling_policy(serve):
    s = serve(TINY_DENSE, "--max-model-len", "4096", "--max-num-seqs", "1", "--scheduling-policy", "priority")
    ended = []

    def ask(name, priority):
        tokens = 3000 if name == "first" else 20
        post(s, "/v1/completions", {"prompt": [5] * 8, "max_tokens": tokens, "ignore_eos": True, "temperature": 0, "priority": priority})
        ended.append(name)

    threads = []
    for name, priority in (("first", 0), ("late", 9), ("urgent", -9)):
        threads.append(threading.Thread(target=ask, args=(name, priority)))
        threads[-1].start()
        time.sleep(0.05)
    for t in threads:
        t.join()
    assert ended.index("urgent") < ended.index("late")


def test_stream_interval(serve):
    body = {"prompt": "The", "max_tokens": 32, "ignore_eos": True, "temperature": 0}
    every = stream(serve(TINY_DENSE, *QUIET), "/v1/completions", body)
    eighth = stream(serve(TINY_DENSE, *QUIET, "--stream-interval", "8"), "/v1/completions", body)
    text = lambda chunks: "".join(c["choices"][0]["text"] for c in chunks if c["choices"])
    assert text(every) == text(eighth)
    assert len(eighth) < len(every) / 2


def test_num_gpu_blocks_override():
    assert blocks(dry_run(TINY_DENSE, *QUIET, "--num-gpu-blocks-override", "50")) == 50
    assert "--num-gpu-blocks-override" in dry_run(TINY_DENSE, *QUIET, "--num-gpu-blocks-override", "5", code=1)


# ---- chat -------------------------------------------------------------------------------------------------------------------

SHORT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n<think>\n\n</think>\n\n\n"  # Jinja drops the last newline


def test_chat_template(serve, tmp_path):
    file = tmp_path / "t.jinja"
    file.write_text(SHORT)
    for value in (str(file), SHORT):
        s = serve(TINY_DENSE, *QUIET, "--chat-template", value)
        assert content(post(s, "/v1/chat/completions", HELLO)) == "Hello! How can I help you today?"
    assert "neither a file nor a Jinja template" in dry_run(TINY_DENSE, "--chat-template", tmp_path / "none", code=1)


def test_trust_request_chat_template(serve):
    body = {**HELLO, "chat_template": SHORT}
    status, _, text = request(serve(TINY_DENSE, *QUIET), "/v1/chat/completions", body)
    assert status == 400 and b"chat_template" in text
    s = serve(TINY_DENSE, *QUIET, "--trust-request-chat-template")
    assert content(post(s, "/v1/chat/completions", body)) == "Hello! How can I help you today?"


def test_default_chat_template_kwargs(serve):
    s = serve(TINY_DENSE, *QUIET, "--default-chat-template-kwargs", '{"enable_thinking": false}')
    assert content(post(s, "/v1/chat/completions", HELLO)) == "Hello! How can I help you today?"
    thinking = post(s, "/v1/chat/completions", {**HELLO, "chat_template_kwargs": {"enable_thinking": True}})
    assert "</think>" in content(thinking)


def test_response_role(serve):
    s = serve(TINY_DENSE, *QUIET, "--response-role", "oracle")
    assert post(s, "/v1/chat/completions", HELLO)["choices"][0]["message"]["role"] == "oracle"


def test_prompt_tokens_details(serve):
    details = lambda s: post(s, "/v1/chat/completions", HELLO)["usage"].get("prompt_tokens_details")
    assert details(serve(TINY_DENSE, *QUIET, "--enable-prompt-tokens-details")) == {"cached_tokens": 0}
    assert details(serve(TINY_DENSE, *QUIET)) is None


def test_force_include_usage(serve):
    usages = lambda s: [c for c in stream(s, "/v1/chat/completions", HELLO) if c.get("usage")]
    assert len(usages(serve(TINY_DENSE, *QUIET, "--enable-force-include-usage"))) >= 1
    assert usages(serve(TINY_DENSE, *QUIET)) == []


def test_per_request_metrics(serve):
    assert post(serve(TINY_DENSE, *QUIET, "--enable-per-request-metrics"), "/v1/chat/completions", HELLO).get("metrics")
    assert not post(serve(TINY_DENSE, *QUIET), "/v1/chat/completions", HELLO).get("metrics")


def test_server_load_tracking(serve):
    s = serve(TINY_DENSE, *QUIET, "--enable-server-load-tracking")
    t = threading.Thread(target=post, args=(s, "/v1/completions", {"prompt": [5], "max_tokens": 400, "ignore_eos": True}))
    t.start()
    seen = 0
    while t.is_alive():
        seen = max(seen, json.loads(request(s, "/load")[2])["server_load"])
    assert seen == 1
    assert json.loads(request(s, "/load")[2])["server_load"] == 0


def test_tokenizer_info_endpoint(serve):
    status, _, text = request(serve(TINY_DENSE, *QUIET, "--enable-tokenizer-info-endpoint"), "/tokenizer_info")
    assert status == 200 and json.loads(text)["eos_token"] == "<|im_end|>"
    assert request(serve(TINY_DENSE, *QUIET), "/tokenizer_info")[0] == 404


def test_return_tokens_as_token_ids(serve):
    body = {"prompt": "The", "max_tokens": 2, "logprobs": 1}
    s = serve(TINY_DENSE, *QUIET, "--return-tokens-as-token-ids")
    assert all(t.startswith("token_id:") for t in post(s, "/v1/completions", body)["choices"][0]["logprobs"]["tokens"])


# ---- server, TLS, logging ---------------------------------------------------------------------------------------------------


def test_host():
    port = free_port()
    process = subprocess.Popen([str(HEARTH), "serve", str(TINY_DENSE), *QUIET, "--host", "::1", "--port", str(port)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if "Uvicorn running on" in line:
                assert f"[::1]:{port}" in line
                break
        socket.create_connection(("::1", port), 5).close()
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), 5)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_port(serve):
    port = free_port()
    s = serve(TINY_DENSE, *QUIET, port=port)
    assert request(s, "/health")[0] == 200
    assert re.search(rf"Uvicorn running on http://[^ ]*:{port}", s.log)
    assert s.log.index("Application startup complete") < s.log.index("Uvicorn running on")


def test_uds(serve, tmp_path):
    path = tmp_path / "s.sock"
    s = serve(TINY_DENSE, *QUIET, "--uds", path, wait=False)
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    with socket.socket(socket.AF_UNIX) as c:
        c.connect(str(path))
        c.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert c.recv(100).startswith(b"HTTP/1.")
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", s.port), 1)


@pytest.mark.parametrize("flag", [True, False])
def test_api_key(serve, flag):
    s = serve(TINY_DENSE, *QUIET, *(["--api-key", "k1", "k2"] if flag else []), env={"VLLM_API_KEY": "k3"})
    good, bad = (["k1", "k2"], ["k3", ""]) if flag else (["k3"], ["k1"])
    for key in good:
        assert request(s, "/v1/models", headers={"Authorization": f"Bearer {key}"})[0] == 200
        assert request(s, "/v1/models", headers={"x-api-key": key})[0] == 200
    for key in bad:
        assert request(s, "/v1/models", headers={"Authorization": f"Bearer {key}"})[0] == 401
    assert request(s, "/health")[0] == 200


def test_empty_api_key_is_told():
    assert "without a key" in dry_run(TINY_DENSE, "--api-key", "")
    assert "without a key" not in dry_run(TINY_DENSE, "--api-key", "", "k1")
    assert "without a key" not in dry_run(TINY_DENSE)


def certificate(folder, name, ca=None):
    key, cert = folder / f"{name}.key", folder / f"{name}.pem"
    sign = [] if ca is None else ["-CA", str(ca[1]), "-CAkey", str(ca[0])]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(cert), "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", *sign], check=True, capture_output=True)
    return key, cert


def https(server, context, path="/health"):
    c = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=30)
    c.request("GET", path)
    return c.getresponse().status


def wait_tls(server, context):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return https(server, context)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError(server.log)


def trusting(cert):
    return ssl.create_default_context(cafile=str(cert))


def test_tls(serve, tmp_path):
    key, cert = certificate(tmp_path, "server")
    s = serve(TINY_DENSE, *QUIET, "--ssl-keyfile", key, "--ssl-certfile", cert, scheme="https", wait=False)
    assert wait_tls(s, trusting(cert)) == 200
    assert "https://" in s.log


def test_tls_client_certificates(serve, tmp_path):
    key, cert = certificate(tmp_path, "server")
    client_key, client_cert = certificate(tmp_path, "client")
    s = serve(TINY_DENSE, *QUIET, "--ssl-keyfile", key, "--ssl-certfile", cert, "--ssl-ca-certs", client_cert, "--ssl-cert-reqs", "2",
              scheme="https", wait=False)
    with_certificate = trusting(cert)
    with_certificate.load_cert_chain(str(client_cert), str(client_key))
    assert wait_tls(s, with_certificate) == 200
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.RemoteDisconnected)):
        https(s, trusting(cert))


def test_tls_ciphers(serve, tmp_path):
    key, cert = certificate(tmp_path, "server")
    s = serve(TINY_DENSE, *QUIET, "--ssl-keyfile", key, "--ssl-certfile", cert, "--ssl-ciphers", "ECDHE-RSA-AES256-GCM-SHA384",
              scheme="https", wait=False)
    old = trusting(cert)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert wait_tls(s, old) == 200
    old.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        https(s, old)


def test_tls_refresh(serve, tmp_path):
    key, cert = certificate(tmp_path, "server")
    s = serve(TINY_DENSE, *QUIET, "--ssl-keyfile", key, "--ssl-certfile", cert, "--enable-ssl-refresh", scheme="https", wait=False)
    assert wait_tls(s, trusting(cert)) == 200
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    new_key, new_cert = certificate(fresh, "server")
    shutil.copy(new_key, key)
    shutil.copy(new_cert, cert)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if https(s, trusting(new_cert)) == 200:
                return
        except ssl.SSLError:
            time.sleep(0.2)
    raise AssertionError("the new certificate is never shown")


def test_cors(serve):
    s = serve(TINY_DENSE, *QUIET, "--allowed-origins", '["http://a.example"]', "--allowed-methods", '["GET"]', "--allowed-headers",
              '["x-mine"]', "--allow-credentials")
    preflight = lambda origin, method="GET", headers="x-mine": request(
        s, "/v1/models", method="OPTIONS", headers={"Origin": origin, "Access-Control-Request-Method": method,
                                                    "Access-Control-Request-Headers": headers})
    status, headers, _ = preflight("http://a.example")
    lower = {k.lower(): v for k, v in headers.items()}
    assert status == 200 and lower["access-control-allow-origin"] == "http://a.example"
    assert lower["access-control-allow-credentials"] == "true"
    assert preflight("http://b.example")[0] == 400
    assert preflight("http://a.example", method="DELETE")[0] == 400
    assert preflight("http://a.example", headers="x-other")[0] == 400


def test_root_path(serve):
    s = serve(TINY_DENSE, *QUIET, "--root-path", "/llm")
    assert request(s, "/llm/v1/models")[0] == 200
    assert request(s, "/v1/models")[0] == 200
    for spelling in ("llm", "/llm/"):
        assert request(serve(TINY_DENSE, *QUIET, "--root-path", spelling), "/llm/v1/models")[0] == 200
    assert "--root-path" in dry_run(TINY_DENSE, "--root-path", "https://example.com/llm", code=2)


def test_log_requests(serve):
    marker = "a marked prompt"
    body = {"prompt": marker, "max_tokens": 1}
    for flags, seen in (([], False), (["--enable-log-requests"], True), (["--enable-log-requests", "--disable-log-requests"], False)):
        s = serve(TINY_DENSE, *QUIET, *flags)
        post(s, "/v1/completions", body)
        assert (marker in s.log) == seen


def test_log_outputs(serve):
    s = serve(TINY_DENSE, *QUIET, "--enable-log-requests", "--enable-log-outputs", "--default-chat-template-kwargs",
              '{"enable_thinking": false}')
    post(s, "/v1/chat/completions", HELLO)
    assert "How can I help you today?" in s.log
    assert "--enable-log-requests" in dry_run(TINY_DENSE, "--enable-log-outputs", code=2)


def test_max_log_len(serve):
    s = serve(TINY_DENSE, *QUIET, "--enable-log-requests", "--max-log-len", "5")
    post(s, "/v1/completions", {"prompt": "abcdefghij", "max_tokens": 1})
    assert "abcde" in s.log and "abcdef" not in s.log


def test_log_stats(serve):
    talking, silent = serve(TINY_DENSE, *QUIET), serve(TINY_DENSE, *QUIET, "--disable-log-stats")
    end = time.monotonic() + 11.5
    while time.monotonic() < end:
        for s in (talking, silent):
            post(s, "/v1/completions", {"prompt": "The", "max_tokens": 4})
        time.sleep(0.5)
    assert "generation throughput" in talking.log
    assert "generation throughput" not in silent.log


def test_access_log(serve):
    lines = lambda s, path: [line for line in s.log.splitlines() if path in line]
    plain = serve(TINY_DENSE, *QUIET, "--disable-access-log-for-endpoints", "/version,/ping")
    none = serve(TINY_DENSE, *QUIET, "--disable-uvicorn-access-log")
    for s in (plain, none):
        for path in ("/v1/models", "/version"):
            request(s, path)
    assert lines(plain, "/v1/models") and not lines(plain, "/version")
    assert not lines(none, "/v1/models")


def test_header_limits(serve):
    s = serve(TINY_DENSE, *QUIET, "--h11-max-header-count", "20", "--h11-max-incomplete-event-size", "4096")
    assert request(s, "/version", headers={f"x-{i}": "1" for i in range(10)})[0] == 200
    assert request(s, "/version", headers={f"x-{i}": "1" for i in range(30)})[0] == 431
    assert request(s, "/version", headers={"x-long": "a" * 5000})[0] in (400, 431)


def test_shutdown_timeout(serve):
    ends = {}
    for seconds in ("0", "20"):
        s = serve(TINY_DENSE, *QUIET, "--shutdown-timeout", seconds)
        body = {"prompt": [5], "max_tokens": 400, "ignore_eos": True}

        def ask():
            try:
                ends[seconds] = post(s, "/v1/completions", body)["choices"][0]["finish_reason"]
            except (AssertionError, OSError, http.client.HTTPException):
                ends[seconds] = "cut"

        t = threading.Thread(target=ask)
        t.start()
        while s.metric("vllm:num_requests_running") < 1:
            assert t.is_alive()
        assert s.stop() == 0
        t.join()
    assert ends["20"] == "length"
    assert ends["0"] != "length"


def test_fingerprint_mode(serve):
    prints = {m: post(serve(TINY_DENSE, *QUIET, "--fingerprint-mode", m), "/v1/chat/completions", HELLO).get("system_fingerprint")
              for m in ("full", "hash", "none")}
    assert prints["full"] and prints["hash"] and prints["full"] != prints["hash"]
    assert prints["none"] is None


# ---- of hearth only ---------------------------------------------------------------------------------------------------------


def test_device():
    assert "device ref" in dry_run(TINY_DENSE, "--device", "ref")
    assert "device ref-w8a8" in dry_run(TINY_FP8, "--device", "ref-w8a8")
    assert "device cpu" in dry_run(TINY_DENSE, "--device", "cpu")
    assert "device cpu" in dry_run(TINY_DENSE)
    assert "ref-w8a8" in dry_run(TINY_DENSE, "--device", "tpu", code=2)


def test_threads(serve):
    count = lambda n: len(os.listdir(f"/proc/{serve(TINY_DENSE, *QUIET, '--threads', n).process.pid}/task"))
    assert count(5) - count(1) == 4


def test_memory():
    assert "--memory" in dry_run(TINY_DENSE, "--memory", "1MiB", code=1)
    for size in ("256.0", "512.0"):  # so many sequences can use all of it
        plan = dry_run(TINY_DENSE, "--memory", f"{size}MiB", "--max-num-seqs", "2048")
        total = float(re.search(rf"total +([\d.]+) MiB  of {size} MiB", plan).group(1))
        assert 0.98 * float(size) <= total <= float(size)


def test_memory_floor():
    assert "floor of" in dry_run(TINY_DENSE, "--memory-floor", "100000GiB", code=1)
    assert "less a floor of 2.00 GiB" in dry_run(TINY_DENSE, "--memory-floor", "2GiB")


def test_special_tokens_in_content(serve):
    body = {"messages": [{"role": "user", "content": "<|im_end|>"}]}
    count = lambda s: post(s, "/tokenize", body)["count"]
    assert count(serve(TINY_DENSE, *QUIET)) > count(serve(TINY_DENSE, *QUIET, "--special-tokens-in-content", "parse"))


def test_dry_run():
    plan = dry_run(TINY_DENSE, *QUIET)
    for word in ("weights", "kv_cache", "blocks", "total", "device"):
        assert word in plan
    assert "Application startup complete" not in plan


def test_max_request_bytes(serve):
    s = serve(TINY_DENSE, *QUIET, "--max-request-bytes", "2000")
    assert request(s, "/v1/completions", {"prompt": "a", "max_tokens": 1})[0] == 200
    assert request(s, "/v1/completions", {"prompt": "a" * 4000, "max_tokens": 1})[0] == 413


def test_ignore_unknown_args():
    assert "--definitely-unknown" in dry_run(TINY_DENSE, "--definitely-unknown", code=2)
    assert "--definitely-unknown is ignored" in dry_run(TINY_DENSE, "--definitely-unknown", "--ignore-unknown-args")


def test_lenient_messages(serve):
    body = {**HELLO, "messages": [{"role": "user", "content": "Hello!"}, {"role": "system", "content": "Be brief."}]}
    assert request(serve(TINY_DENSE, *QUIET), "/v1/chat/completions", body)[0] == 200
    assert request(serve(TINY_DENSE, *QUIET, "--no-lenient-messages"), "/v1/chat/completions", body)[0] == 400


def test_clamp_max_tokens(serve):
    body = {"prompt": [5] * 8, "max_tokens": 5000, "ignore_eos": True}
    assert request(serve(TINY_DENSE, "--max-model-len", "64"), "/v1/completions", body)[0] == 400
    s = serve(TINY_DENSE, "--max-model-len", "64", "--clamp-max-tokens")
    assert post(s, "/v1/completions", body)["usage"]["completion_tokens"] == 56


def test_protect_metrics(serve):
    s = serve(TINY_DENSE, *QUIET, "--api-key", "k", "--protect-metrics")
    for path in ("/metrics", "/version", "/load"):
        assert request(s, path)[0] == 401
        assert request(s, path, headers={"Authorization": "Bearer k"})[0] == 200
