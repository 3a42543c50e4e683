"""Many clients at once, clients that leave, memory that comes back."""
import concurrent.futures
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import GOLDEN, PATIENCE, TINY_MOE, client, module_server

server = module_server(TINY_MOE, "--max-num-seqs", "16", "--max-model-len", "1024", "--max-num-batched-tokens", "128",
                       "--generation-config", "vllm")
PROMPTS = json.loads((GOLDEN / "qwen3_5_moe_tiny" / "goldens_bf16" / "goldens.json").read_text())["prompts"]
CASES = [p for p in PROMPTS.values() if p.get("greedy")]


def complete(server, case):
    body = json.dumps({"prompt": case["ids"], "max_tokens": 64, "temperature": 0, "ignore_eos": True,
                       "return_token_ids": True}).encode()
    request = urllib.request.Request(server.url + "/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)["choices"][0]["token_ids"]


@pytest.mark.parametrize("clients", [32, 256])
def test_many_clients_at_once_get_what_one_gets(server, clients):
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        jobs = [(CASES[i % len(CASES)], pool.submit(complete, server, CASES[i % len(CASES)])) for i in range(clients)]
        for case, job in jobs:
            assert job.result() == case["greedy"]
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0)
    assert server.metric("vllm:num_requests_waiting") == 0


def raw_request(server, path, body):
    data = json.dumps(body).encode()
    s = socket.create_connection(("127.0.0.1", server.port))
    s.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
              .encode() + data)
    return s


def wait_until(condition, seconds=20 * PATIENCE):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("stream", [False, True])
def test_client_gone_in_decode(server, stream):
    before = server.metric("vllm:generation_tokens_total")
    s = raw_request(server, "/v1/completions", {"prompt": CASES[0]["ids"], "max_tokens": 900, "temperature": 0, "ignore_eos": True,
                                                 "stream": stream})
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 1)
    s.close()
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0)
    assert wait_until(lambda: server.metric("vllm:kv_cache_usage_perc") == 0)
    assert server.metric("vllm:generation_tokens_total") - before < 900


def test_clients_gone_leave_no_socket(server):
    files = f"/proc/{server.process.pid}/fd"
    before = len(os.listdir(files))
    body = {"prompt": CASES[0]["ids"], "max_tokens": 900, "temperature": 0, "ignore_eos": True}
    for i in range(60):
        s = raw_request(server, ["/v1/completions", "/tokenize"][i % 5 == 4], {**body, "stream": i % 3 == 0})
        if i % 2:
            s.shutdown(socket.SHUT_WR)
        if i % 4 > 1:
            time.sleep(0.02)
        s.close()
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0 and server.metric("vllm:num_requests_waiting") == 0)
    assert wait_until(lambda: len(os.listdir(files)) <= before + 1), os.listdir(files)  # one: the metrics request itself


@pytest.mark.parametrize("stream", [False, True])
def test_client_that_closed_only_its_side_gets_the_answer(server, stream):
    s = raw_request(server, "/v1/completions", {"prompt": CASES[0]["ids"], "max_tokens": 20, "temperature": 0, "stream": stream})
    s.shutdown(socket.SHUT_WR)
    s.settimeout(60)
    answer = b""
    while part := s.recv(65536):
        answer += part
    assert b"HTTP/1.1 200 OK" in answer
    assert answer.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n" if stream else b"}")


def resident_mib(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS:")).split()[1]) / 1024


def test_memory_of_large_bodies_comes_back(serve):
    small = serve(GOLDEN / "tiny_llama", "--max-num-seqs", "4")
    before = resident_mib(small)
    for body in [b'{"prompt":"a","max_tokens":1,"x":[' + b"{}," * 2_000_000 + b"0]}",
                 b'{"prompt":"' + b"a" * 8_000_000 + b'","max_tokens":1}']:
        request = urllib.request.Request(small.url + "/v1/completions", body, {"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=300).read()
        except urllib.error.HTTPError as e:
            assert e.code == 400 and b"maximum context length" in e.read()
    assert wait_until(lambda: resident_mib(small) < before + 64), (before, resident_mib(small))


def test_client_gone_in_prefill(server):
    ids = (CASES[-1]["ids"] * 8)[:1000]
    sockets = [raw_request(server, "/v1/completions", {"prompt": ids, "max_tokens": 8, "temperature": 0}) for _ in range(40)]
    for s in sockets:
        s.close()
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0 and server.metric("vllm:num_requests_waiting") == 0)
    assert wait_until(lambda: server.metric("vllm:kv_cache_usage_perc") == 0)
    assert complete(server, CASES[0]) == CASES[0]["greedy"]


def test_slow_reader_does_not_hold_up_others(server):
    s = raw_request(server, "/v1/completions", {"prompt": CASES[0]["ids"], "max_tokens": 800, "temperature": 0, "ignore_eos": True,
                                                 "stream": True})
    try:
        started = time.monotonic()
        assert complete(server, CASES[1]) == CASES[1]["greedy"]
        assert time.monotonic() - started < 60 * PATIENCE
    finally:
        s.close()
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0)


def test_half_open_connections_do_not_block(server):
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(64)]
    for s in held:
        s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Le")
    assert complete(server, CASES[0]) == CASES[0]["greedy"]
    for s in held:
        s.close()


def test_preempted_requests_say_the_same(serve):
    tight = serve(TINY_MOE, "--max-num-seqs", "8", "--max-model-len", "512", "--num-gpu-blocks-override", "40",
                  "--max-num-batched-tokens", "64", "--generation-config", "vllm")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = [(case, pool.submit(complete, tight, case)) for case in (CASES * 3)[:16]]
        for case, job in jobs:
            assert job.result() == case["greedy"]
    assert tight.metric("vllm:num_preemptions_total") > 0


def test_one_forward_pass_a_step_serves_many(server):
    steps = server.metric("vllm:iteration_tokens_total_count")
    tokens = server.metric("vllm:generation_tokens_total")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: complete(server, CASES[0]), range(8)))
    steps = server.metric("vllm:iteration_tokens_total_count") - steps
    tokens = server.metric("vllm:generation_tokens_total") - tokens
    assert tokens == 8 * 64
    assert tokens / steps > 4


def three_choices(server, case, **fields):
    """Three choices, the second and third from the rows that the first one's prompt gave; and the rows that were computed."""
    rows = server.metric("vllm:iteration_tokens_total_sum")
    body = json.dumps({"prompt": case["ids"], "n": 3, "max_tokens": 64, "ignore_eos": True, "return_token_ids": True,
                       **fields}).encode()
    request = urllib.request.Request(server.url + "/v1/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        answer = json.load(reply)
    assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0)  # the last step is told after its tokens
    return answer, server.metric("vllm:iteration_tokens_total_sum") - rows


@pytest.mark.parametrize("echo", [False, True])
def test_three_choices_compute_their_prompt_once(server, echo):
    case = max(CASES, key=lambda c: len(c["ids"]))  # longer than a step
    prompt = server.metric("vllm:prompt_tokens_total")
    answer, rows = three_choices(server, case, top_k=1, **({"echo": True, "logprobs": 1} if echo else {}))
    assert rows == len(case["ids"]) + 3 * 63  # a choice's last token is never run
    assert server.metric("vllm:prompt_tokens_total") - prompt == answer["usage"]["prompt_tokens"] == len(case["ids"])
    assert answer["usage"]["completion_tokens"] == 3 * 64
    for choice in answer["choices"]:
        assert choice["token_ids"] == case["greedy"]
    drawn, rows = three_choices(server, CASES[0], temperature=1.2, seed=5)
    assert rows == len(CASES[0]["ids"]) + 3 * 63
    for i, choice in enumerate(drawn["choices"]):
        alone = json.dumps({"prompt": CASES[0]["ids"], "max_tokens": 64, "ignore_eos": True, "return_token_ids": True,
                            "temperature": 1.2, "seed": 5 + i}).encode()
        request = urllib.request.Request(server.url + "/v1/completions", alone, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as reply:
            assert json.load(reply)["choices"][0]["token_ids"] == choice["token_ids"]


def test_choices_with_too_few_blocks_say_the_same(serve):
    tight = serve(TINY_MOE, "--max-num-seqs", "8", "--max-model-len", "512", "--num-gpu-blocks-override", "40",
                  "--max-num-batched-tokens", "64", "--generation-config", "vllm")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for case, (answer, _) in [(c, j.result()) for c, j in [(c, pool.submit(three_choices, tight, c, top_k=1))
                                                               for c in CASES[:6]]]:
            assert [c["token_ids"] for c in answer["choices"]] == [case["greedy"]] * 3
    assert tight.metric("vllm:num_preemptions_total") > 0
    assert wait_until(lambda: tight.metric("vllm:kv_cache_usage_perc") == 0)


def test_client_with_three_choices_gone(server):
    for ids in (CASES[0]["ids"], (CASES[-1]["ids"] * 8)[:600]):  # soon in decode, and after a while of prefill
        s = raw_request(server, "/v1/completions", {"prompt": ids, "n": 3, "max_tokens": 400, "top_k": 1, "ignore_eos": True})
        assert wait_until(lambda: server.metric("vllm:num_requests_running") > 0)
        s.close()
        assert wait_until(lambda: server.metric("vllm:num_requests_running") == 0)
        assert wait_until(lambda: server.metric("vllm:kv_cache_usage_perc") == 0)


def test_sigterm_drains_and_ends_with_0(serve):
    s = serve(TINY_MOE, "--shutdown-timeout", "20", "--generation-config", "vllm")
    got = {}
    thread = threading.Thread(target=lambda: got.update(ids=complete(s, CASES[0])))
    thread.start()
    assert wait_until(lambda: s.metric("vllm:num_requests_running") == 1 or not thread.is_alive())
    assert s.stop(signal.SIGTERM) == 0
    thread.join()
    assert got["ids"] == CASES[0]["greedy"]


def test_the_openai_client_streams(server):
    api = client(server)
    text = ""
    for chunk in api.completions.create(model=api.models.list().data[0].id, prompt=CASES[0]["ids"], max_tokens=16, temperature=0,
                                        stream=True):
        text += chunk.choices[0].text if chunk.choices else ""
    assert CASES[0]["greedy_text"].startswith(text) and text
