#!/usr/bin/env python3
"""Speed against llama.cpp: the same GGUF, threads and machine, runs alternating (A B B A ...), minimum, median and maximum kept.

  tools/compare_llama_cpp.py --hearth build/hearth --llama DIR/bin MODEL.gguf... [--threads 2] [--rounds 3] [--out FILE.jsonl]

DIR is what tools/build_llama_cpp.sh made. One JSON line a model and test: tok/s of both, and hearth's share.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys


def hearth_bench(args, model, prompt, generate):
    out = subprocess.run([args.hearth, "bench", "engine", model, "--prompt-tokens", str(prompt), "--gen-tokens", str(generate),
                          "--batch", "1", "--repeats", "1", "--threads", str(args.threads), "--json", "-"],
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = {row["test"]: row for row in map(json.loads, out.splitlines())}
    return rows[f"pp{prompt}"], rows[f"tg{generate}"]


def llama_bench(args, model, prompt, generate):
    out = subprocess.run([os.path.join(args.llama, "llama-bench"), "-m", model, "-p", str(prompt), "-n", str(generate),
                          "-t", str(args.threads), "-r", "1", "-o", "json"], check=True, capture_output=True, text=True).stdout
    rates = {}
    for row in json.loads(out):
        rates["prompt" if row["n_prompt"] else "generate"] = row["avg_ts"]
    return rates


def spread(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--hearth", default="build/hearth")
    parser.add_argument("--llama", required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    args = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for model in args.models:
        ours = {"prompt": [], "generate": []}
        theirs = {"prompt": [], "generate": []}
        probe, shares = None, []
        for round_ in range(args.rounds):
            order = ("ours", "theirs") if round_ % 2 == 0 else ("theirs", "ours")
            for who in order:
                if who == "ours":
                    prompt, generate = hearth_bench(args, model, args.prompt, args.generate)
                    ours["prompt"].append(prompt["tok_s"])
                    ours["generate"].append(generate["tok_s"])
                    shares.append(generate["share_of_bandwidth"])
                    probe = generate["machine_read_bytes_a_second"]
                else:
                    rates = llama_bench(args, model, args.prompt, args.generate)
                    theirs["prompt"].append(rates["prompt"])
                    theirs["generate"].append(rates["generate"])
        for test, tokens in (("prompt", args.prompt), ("generate", args.generate)):
            line = {"bench": "compare_llama_cpp", "commit": commit, "model": os.path.basename(model), "test": test,
                    "tokens": tokens, "threads": args.threads, "machine": platform.machine(),
                    "cpu": cpu_name(), "hearth_tok_s": spread(ours[test]), "llama_cpp_tok_s": spread(theirs[test]),
                    "ratio": statistics.median(ours[test]) / statistics.median(theirs[test]), "machine_read_bytes_a_second": probe}
            if test == "generate":
                line["share_of_bandwidth"] = statistics.median(shares)
            text = json.dumps(line)
            print(text)
            if args.out:
                with open(args.out, "a", encoding="utf-8") as f:
                    f.write(text + "\n")


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
