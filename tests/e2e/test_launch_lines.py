"""The launch lines of docs/howto/launch-lines.md on a local model: what the document says is what happens."""
import re
import shlex
import subprocess

import pytest

from conftest import HEARTH, ROOT, TINY_DENSE, free_port

DOCUMENT = (ROOT / "docs" / "howto" / "launch-lines.md").read_text()
ROWS = {cells[0]: (cells[1], cells[2]) for cells in
        ([c.strip() for c in line.strip("| \n").split(" | ", 2)] + [""] * 2 for line in DOCUMENT.splitlines() if line.startswith("| "))
        if cells[0] not in ("line", "---")}
LINES = dict(re.findall(r"^Line (.+?):\n\n```\nhearth (.+)\n```$", DOCUMENT, re.M))


def test_every_line_has_a_row():
    assert set(ROWS) == set(LINES) and {"1", "2", "3", "4", "5", "6"} <= set(LINES)


@pytest.mark.parametrize("name", LINES)
def test_line(name):
    # The tiny model is made for 4,096 tokens; the ports of other tests stay free.
    line = LINES[name].replace("MODEL", str(TINY_DENSE), 1).replace("--max-model-len 262144", "--max-model-len 4096")
    line = line.replace("--max-model-len 32768", "--max-model-len 4096").replace("--port 8000", f"--port {free_port()}")
    outcome, words = ROWS[name]
    result = subprocess.run([str(HEARTH), *shlex.split(line), "--dry-run"], capture_output=True, text=True, timeout=60)
    said = [w.strip().replace("\\|", "|") for w in words.rstrip(" |").split("<br>") if w.strip()]
    for sentence in said:
        assert sentence in result.stderr
    assert result.returncode == (2 if outcome == "refused" else 0), result.stderr
    assert ("memory: total" in result.stderr) == outcome.startswith("starts")


def test_the_first_line_that_starts_answers(serve):
    """Not only the plan: line 4 without what is refused, all the way to an answer."""
    import openai

    args = shlex.split(LINES["4 (without the two)"].replace("--max-model-len 32768", "--max-model-len 4096"))
    drop = {"--model", "--host", "--port"}
    flags = [a for i, a in enumerate(args[1:], 1) if a not in drop and args[i - 1] not in drop]
    s = serve(TINY_DENSE, *flags)
    api = openai.OpenAI(base_url=s.url + "/v1", api_key="sk-x")
    reply = api.chat.completions.create(model="qwen", messages=[{"role": "user", "content": "Hello!"}], temperature=0, max_tokens=64)
    assert "How can I help you today?" in reply.choices[0].message.content
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=s.url + "/v1", api_key="wrong").models.list()
