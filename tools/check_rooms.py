#!/usr/bin/env python3
"""Compares what each room includes with its USES row in CMakeLists.txt, and with the rules of docs/ARCHITECTURE.md.

Prints each difference as file:line and ends with 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"

# Of these rooms only the named files may be included from there.
ONLY = {
    ("server", "engine"): {"engine.h", "engine_metrics.h", "request.h", "sampling_params.h"},
    ("engine", "models"): {"model_def.h"},
    ("engine", "nn"): {"ctx.h", "step_input.h"},
    ("models", "checkpoint"): {"hf_config.h"},
}
NO_JSON = {"cache", "compute", "engine", "quant", "tensor", "obs", "backend/ref", "backend/cpu"}
# The library itself: base/json.h, and what reads large tokenizer files without keeping them.
JSON_LIBRARY = {"base/json.h", "text/tokenizer/json_part.h", "text/tokenizer/json_vocab.h"}
CUDA = re.compile(r"<(cuda|cublas|cudnn|nccl|cutlass|nvml)")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def rooms():
    text = (ROOT / "CMakeLists.txt").read_text()
    table = {}
    for body in re.findall(r"^hearth_room\(([^)]*)\)", text, re.M):
        words = body.split()
        uses = []
        if "USES" in words:
            for word in words[words.index("USES") + 1:]:
                if word == "LIBS":
                    break
                uses.append(word)
        table[words[0]] = uses
    return table


def room_of(path, table):
    best = ""
    for room in table:
        if (path + "/").startswith(room + "/") and len(room) > len(best):
            best = room
    return best


def main():
    table = rooms()
    problems = []
    used = {room: set() for room in table}
    for file in sorted(SRC.rglob("*")):
        if file.suffix not in (".h", ".cpp", ".cu", ".cuh", ".inc"):
            continue
        inside = file.relative_to(SRC).as_posix()
        room = room_of(inside, table)
        if not room:
            problems.append(f"{inside}: belongs to no room of CMakeLists.txt")
            continue
        is_test = file.stem.endswith(("_test", "_fuzz")) or "/testing/" in inside
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            at = f"src/{inside}:{number}"
            if "getenv(" in line and not inside.startswith("base/args") and not is_test:
                problems.append(f"{at}: reads the environment; only base/args does")
            match = INCLUDE.match(line)
            if not match:
                continue
            kind, target = match.groups()
            if CUDA.search(f"<{target}") and not inside.startswith("backend/cuda/"):
                problems.append(f"{at}: includes {target}; CUDA headers stay in backend/cuda")
            if "nlohmann/" in target and inside not in JSON_LIBRARY:
                problems.append(f"{at}: includes {target}; base/json.h is the way to it")
            if kind == "<":
                continue
            if target == "base/json.h" and room in NO_JSON and not is_test:
                problems.append(f"{at}: {room} knows no JSON")
            other = room_of(target, table)
            if not other:
                problems.append(f'{at}: "{target}" is in no room; write the path from src/')
                continue
            if other == room:
                continue
            used[room].add(other)
            if is_test and other.startswith("backend/"):
                continue  # what a test runs on or compares with; room_test.cmake links it
            if other not in table[room]:
                problems.append(f"{at}: {room} includes {target}, and its row has no {other}")
            allowed = ONLY.get((room, other))
            if allowed and not is_test and target[len(other) + 1:] not in allowed:
                problems.append(f"{at}: of {other}, {room} may include {', '.join(sorted(allowed))}")
    for room, uses in table.items():
        for other in uses:
            if other not in used[room]:
                problems.append(f"CMakeLists.txt: {room} USES {other}, which none of its files includes")
    for problem in problems:
        print(problem)
    print(f"check_rooms: {len(table)} rooms, {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
