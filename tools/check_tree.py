#!/usr/bin/env python3
"""Small truths about the tree: each working option names an end-to-end test that exists, generated documents are fresh, and
no file holds words that do not belong here.

  tools/check_tree.py [PROGRAM]     PROGRAM: the built hearth, to compare docs/ with
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GENERATED = {"docs/generated/flags.md": ["docs", "flags"], "docs/howto/launch-lines.md": ["docs", "launch-lines"]}
# Written so that this file does not hold them itself.
WORDS = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "/" + "work/", "/" + "home/", "place" + "holder", "sub" + "agent"]


def tracked():
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in out.splitlines()]


def flag_tests():
    table = (ROOT / "src/cli/serve_flags_table.cpp").read_text()
    tests = {}
    for file in (ROOT / "tests/e2e").glob("test_*.py"):
        tests[file.name] = set(re.findall(r"^def (test_\w+)", file.read_text(), re.M))
    for file, name in re.findall(r'"(test_\w+\.py)::(test_\w+)"', table):
        if name not in tests.get(file, set()):
            yield f"src/cli/serve_flags_table.cpp: names {file}::{name}, which is not there"


def words():
    for path in tracked():
        relative = path.relative_to(ROOT).as_posix()
        if relative.startswith("tests/golden/") or not path.is_file():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for word in WORDS:
                if re.search(r"(?<![A-Za-z0-9_\[\\])" + re.escape(word), line):
                    yield f"{relative}:{number}: holds '{word}'"


def generated(program):
    for file, args in GENERATED.items():
        fresh = subprocess.run([program, *args], capture_output=True, text=True, check=True).stdout
        if (ROOT / file).read_text() != fresh:
            yield f"{file}: is stale; make docs writes it"


def main():
    problems = [*flag_tests(), *words()]
    if len(sys.argv) > 1:
        problems += generated(sys.argv[1])
    for problem in problems:
        print(problem)
    print(f"check_tree: {len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
