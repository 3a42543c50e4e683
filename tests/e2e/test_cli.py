"""The verbs beside serve: run (once, by pipe, in a terminal), tokenize, show, bench, and what a mistyped line says."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from conftest import GOLDEN, HEARTH, TINY_DENSE, TINY_MOE, need_model

REPLY = "Hello! How can I help you today?"


def hearth(*args, code=0, stdin=subprocess.DEVNULL, input=None, env=None):
    kwargs = {"input": input} if input is not None else {"stdin": stdin}
    result = subprocess.run([str(HEARTH), *map(str, args)], capture_output=True, text=True, timeout=120,
                            env={**os.environ, **(env or {})}, **kwargs)
    assert result.returncode == code, f"exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def test_help_and_version():
    for word in ("serve", "run", "bench", "tokenize", "show"):
        assert word in hearth("--help").stdout
    assert re.match(r"hearth \d+\.\d+\.\d+ \(\S+\)\n", hearth("--version").stdout)
    assert "--max-model-len" in hearth("serve", "--help").stdout
    assert "--swap-space" in hearth("serve", "--help=all").stdout
    assert "--ssl-keyfile" in hearth("serve", "--help=ssl").stdout
    for verb in ("run", "show", "tokenize"):
        assert "usage: hearth " + verb in hearth(verb, "--help").stdout


@pytest.mark.parametrize("args, words", [
    (["sevre"], ["unknown command 'sevre'", "serve"]),
    (["serve"], ["no MODEL"]),
    (["run"], ["no MODEL"]),
    (["bench", "everything"], ["is no benchmark"]),
    (["tokenize", TINY_DENSE, "--detokenise", "1"], ["unknown option --detokenise", "--detokenize"]),
    ([], ["usage"]),
])
def test_mistyped_lines(args, words):
    text = hearth(*args, code=2).stderr
    for word in ["usage", *words]:
        assert word in text


def test_tokenize_and_back():
    for text in ("Hello!", "naïve 中文 🙂\n  x", "<|im_start|>user"):
        ids = json.loads(hearth("tokenize", TINY_DENSE, "--ids", text).stdout)
        assert hearth("tokenize", TINY_DENSE, "--detokenize", *ids).stdout == text
    assert json.loads(hearth("tokenize", TINY_DENSE, "--ids", "-", input="Hello!").stdout) == [760, 0]
    assert len(json.loads(hearth("tokenize", TINY_DENSE, "--ids", "--plain", "<|im_end|>").stdout)) > 1
    table = hearth("tokenize", TINY_DENSE, "<|im_end|>").stdout
    assert "1026" in table and "special" in table and "1 tokens" in table
    assert "not in the vocabulary" in hearth("tokenize", TINY_DENSE, "--detokenize", "99999", code=2).stderr


def test_show():
    text = hearth("show", TINY_MOE).stdout
    for word in ("qwen3_5_moe", "bf16", "context", "4096 tokens", "chat template", "KV cache", "weights"):
        assert word in text
    assert "im_start" in hearth("show", TINY_MOE, "--template").stdout


def test_show_a_gguf_file():
    text = hearth("show", need_model("SmolLM2-135M-Instruct.Q4_1.gguf")).stdout
    for word in ("llama", "q4_1", "8192 tokens", "49152"):
        assert word in text


def test_run_answers_once():
    result = hearth("run", TINY_DENSE, "Hello!", "--override-generation-config", '{"temperature": 0}')
    assert REPLY in result.stdout
    assert "INFO" not in result.stderr


def test_run_answers_a_pipe():
    result = hearth("run", TINY_DENSE, "--override-generation-config.temperature", "0", "--verbose", input="Hello!")
    assert REPLY in result.stdout and "tok/s" in result.stderr
    assert "nothing to answer" in hearth("run", TINY_DENSE, input="", code=2).stderr


class Terminal:
    def __init__(self, *args, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", **(env or {})})
            os.execv(str(HEARTH), [str(HEARTH), *map(str, args)])
        self.text = ""

    def wait_for(self, word, seconds=60):
        deadline = time.monotonic() + seconds
        while word not in self.text:
            assert time.monotonic() < deadline, f"'{word}' never came:\n{self.text}"
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    assert word in self.text, self.text
        before, _, self.text = self.text.partition(word)
        return before

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def end(self, seconds=20):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    pass
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"it did not end:\n{self.text}")


@pytest.fixture
def home(tmp_path):
    return {"HOME": str(tmp_path)}


def test_run_in_a_terminal(home):
    t = Terminal("run", TINY_DENSE, "--max-model-len", "2048", env=home)
    t.wait_for(">>> ")
    t.send("/set parameter temperature 0\r")
    t.wait_for("temperature is 0.")
    t.wait_for(">>> ")
    t.send("Hello!\r")
    t.wait_for(REPLY)
    t.wait_for(">>> ")
    t.send("/show parameters\r")
    t.wait_for('"temperature": 0')
    t.send("/show messages\r")
    t.wait_for("assistant")
    t.send("/clear\r")
    t.wait_for("starts anew")
    t.wait_for(">>> ")
    t.send('"""What is the capital\r')
    t.wait_for("... ")
    t.send('of France?"""\r')
    t.wait_for(">>> ")
    t.send("/show messages\r")
    t.wait_for("What is the capital\\nof France?")
    t.send("/set parameter temperature hot\r")
    t.wait_for("temperature expects a number")
    t.send("/nonsense\r")
    t.wait_for("There is no command /nonsense")
    t.send("/bye\r")
    assert t.end() == 0


def test_history_is_kept(home):
    for turn in range(2):
        t = Terminal("run", TINY_DENSE, "--max-model-len", "512", env=home)
        t.wait_for(">>> ")
        if turn == 0:
            t.send("/show system\r")
        else:
            t.send("\x1b[A\r")  # up
        t.wait_for("There is no system message.")
        t.wait_for(">>> ")
        time.sleep(0.3)  # the prompt is printed just before the terminal stops reading whole lines
        t.send("\x04")  # Ctrl-D
        assert t.end() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(home):
    t = Terminal("run", TINY_MOE, "--max-model-len", "4096", env=home)
    t.wait_for(">>> ")
    # High temperature never ends by itself soon.
    t.send("/set parameter temperature 50\r")
    t.wait_for("temperature is 50.")
    t.wait_for(">>> ")
    t.send("Hello!\r")
    t.wait_for("\n")
    time.sleep(0.5)
    t.send("\x03")
    t.wait_for(">>> ", 10)
    t.send("half a line\x03")
    t.send("/show system\r")
    t.wait_for("There is no system message.")
    t.send("/bye\r")
    assert t.end() == 0


def test_bench_engine(tmp_path):
    out = tmp_path / "bench.jsonl"
    table = hearth("bench", "engine", TINY_DENSE, "--prompt-tokens", "32,64", "--gen-tokens", "8", "--batch", "1,2", "--repeats", "2",
                   "--threads", "1", "--json", out).stdout
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(j["test"], j["batch"]) for j in lines] == [("pp32", 1), ("pp64", 1), ("pp32", 2), ("pp64", 2), ("tg8", 1), ("tg8", 2)] or \
        sorted((j["test"], j["batch"]) for j in lines) == sorted([("pp32", 1), ("pp64", 1), ("tg8", 1), ("pp32", 2), ("pp64", 2), ("tg8", 2)])
    for j in lines:
        assert 0 < j["tok_s_min"] <= j["tok_s"] <= j["tok_s_max"]
        assert j["commit"] and j["machine"] and j["command"].startswith("hearth bench engine")
        if j["test"] == "tg8":
            # One forward pass a step serves the whole batch.
            assert j["steps"] == 7 and j["bytes_a_step"] > 0 and 0 < j["share_of_bandwidth"]
    assert "tok/s" in table and "pp64" in table
