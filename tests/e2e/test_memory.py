"""Memory is what the plan printed: peak after loading and under a full load, weights at their stored size, one ledger.

With HEARTH_MEMORY_RESULTS=FILE each model's figures are appended there as one JSON line (bench/results/memory.jsonl).
"""
import concurrent.futures
import json
import os
import re
import subprocess
import urllib.request

import pytest

from conftest import HEARTH, TINY_DENSE, TINY_FP8, TINY_MOE, need_model

UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
LEDGER = re.compile(r"memory: (\w+) +([\d.]+) (bytes|KiB|MiB|GiB)(?:$|  )", re.M)
# Peak and plan may differ by 5 %, and by what allocator, connections and page rounding add or spare in any program.
SHARE, ALLOWANCE = 0.05, 4 << 20
NATIVE_SHARE = 1.03  # weights in memory against their bytes in the checkpoint
SEQUENCES, LENGTH = 4, 512
FLAGS = ["--max-num-seqs", SEQUENCES, "--max-model-len", LENGTH, "--max-num-batched-tokens", 512,
         "--kv-cache-memory-bytes", "64M", "--generation-config", "vllm"]

TINY = {"tiny-moe-bf16": TINY_MOE, "tiny-moe-fp8": TINY_FP8, "tiny-dense-bf16": TINY_DENSE}
REAL = ["SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q8_0.gguf", "SmolLM2-135M-Instruct.BF16.gguf",
        "SmolLM2-135M-Instruct.Q4_1.f32", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.f32"]


def ledger(text):
    return {name: float(number) * UNITS[unit] for name, number, unit in LEDGER.findall(text)}


def process_bytes(server, key):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key + ":"))


def show(model, *flags):
    result = subprocess.run([str(HEARTH), "show", str(model), *map(str, flags)], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout


def fill(server):
    """All sequences at full length at once: prompts that fill the steps, then as many tokens as there is room for."""
    def one(i):
        prompt = [(7 * i + 13 * k) % 900 + 5 for k in range(LENGTH - 32)]
        body = json.dumps({"prompt": prompt, "max_tokens": 32, "temperature": 0, "ignore_eos": True}).encode()
        request = urllib.request.Request(server.url + "/v1/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)["usage"]["total_tokens"]

    with concurrent.futures.ThreadPoolExecutor(SEQUENCES) as pool:
        assert list(pool.map(one, range(SEQUENCES))) == [LENGTH] * SEQUENCES


def stored_formats(shown):
    part = shown.split("\nstored\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in part.splitlines() if line.split()[0] != "all"]


@pytest.mark.parametrize("name", [*TINY, *REAL])
def test_peak_is_what_the_plan_printed(serve, name):
    model = TINY[name] if name in TINY else need_model(name)
    shown = show(model, *FLAGS)
    server = serve(model, *FLAGS)
    plan = ledger(server.log)
    ready_peak, ready = process_bytes(server, "VmHWM"), process_bytes(server, "VmRSS")
    fill(server)
    peak = process_bytes(server, "VmHWM")

    read = re.search(r"weights read +([\d.]+) (\w+)", shown)
    read = float(read[1]) * UNITS[read[2]]
    weights = ready - (plan["total"] - plan["weights"])
    record = {"test": "memory", "model": name, "formats": stored_formats(shown), "stored_bytes": round(read),
              "weights_bytes": round(plan["weights"]), "planned_bytes": round(plan["total"]), "ready_peak_bytes": ready_peak,
              "peak_bytes": peak, "ratio": round(peak / plan["total"], 4),
              "commit": re.search(r"\((\S+)\)", subprocess.run([str(HEARTH), "--version"], capture_output=True, text=True).stdout)[1]}
    if results := os.environ.get("HEARTH_MEMORY_RESULTS"):
        with open(results, "a") as f:
            f.write(json.dumps(record) + "\n")

    assert ledger(shown) == plan
    for measured in (ready_peak, peak):
        assert abs(measured - plan["total"]) <= SHARE * plan["total"] + ALLOWANCE, (record, server.log)
    assert plan["weights"] <= NATIVE_SHARE * read + ALLOWANCE / 8, record
    assert weights <= NATIVE_SHARE * read + ALLOWANCE, (record, server.log)
