"""The verbs beside serve: run (once, by pipe, in a terminal), tokenize, show, bench, and what a mistyped line says."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from conftest import GOLDEN, HEARTH, PATIENCE, TINY_DENSE, TINY_MOE, need_model

REPLY = "Hello! How can I help you today?"


def hearth(*args, code=0, stdin=subprocess.DEVNULL, input=None, env=None):
    kwargs = {"input": input} if input is not None else {"stdin": stdin}
    result = subprocess.run([str(HEARTH), *map(str, args)], capture_output=True, text=True, timeout=120 * PATIENCE,
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
    for verb in ("run", "show", "tokenize", "bench", "docs"):
        for line in ([verb, "--help"], [verb, "-h"], ["help", verb]):
            assert "usage: hearth " + verb in hearth(*line).stdout


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


def test_run_with_an_endless_top_k():
    assert REPLY in hearth("run", TINY_DENSE, "Hello!", "--override-generation-config", '{"temperature": 0, "top_k": 1e300}').stdout


def test_run_answers_a_pipe():
    result = hearth("run", TINY_DENSE, "--override-generation-config.temperature", "0", "--verbose", input="Hello!")
    assert REPLY in result.stdout and "tok/s" in result.stderr
    assert "nothing to answer" in hearth("run", TINY_DENSE, input="", code=2).stderr


RUN_SMALL = [str(HEARTH), "run", str(TINY_DENSE), "--max-model-len", "64", "--num-gpu-blocks-override", "40"]


def shell(redirection, *command, limit="true"):
    """The command with a redirection, as a shell or a service manager sets it up."""
    return subprocess.run(["bash", "-c", f'{limit}; exec "$@" {redirection}', "bash", *map(str, command)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)


def test_closed_standard_input_is_empty_and_not_the_model():
    result = shell("<&-", *RUN_SMALL, "Hello!", "--override-generation-config.temperature", "0")
    assert result.returncode == 0 and REPLY in result.stdout, result.stderr


@pytest.mark.parametrize("redirection, reason", [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
def test_output_that_cannot_be_written_is_an_error(redirection, reason):
    for command in ([*RUN_SMALL, "Hello!"], [HEARTH, "show", TINY_DENSE], [HEARTH, "tokenize", TINY_DENSE, "Hello!"],
                    [HEARTH, "--version"], [HEARTH, "--help"], [HEARTH, "serve", "--help=all"], [HEARTH, "docs", "flags"]):
        result = shell(redirection, *command)
        assert result.returncode == 1 and "cannot write the output" in result.stderr and reason in result.stderr, (command, result)


def test_bench_results_that_cannot_be_written_are_an_error():
    result = hearth("bench", "engine", TINY_DENSE, "-p", "8", "-g", "2", "--repeats", "1", "--json", "/dev/full", code=1)
    assert "cannot write the results: No space left on device" in result.stderr


def test_reader_that_leaves_ends_the_answer():
    # The tiny model would go on to the end of its context.
    command = [str(HEARTH), "run", str(TINY_MOE), "Hello!", "--override-generation-config", '{"temperature": 50, "eos_token_id": null}']
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == -signal.SIGPIPE


def test_input_that_cannot_be_read_is_an_error():
    for command in (RUN_SMALL, [HEARTH, "tokenize", TINY_DENSE, "-"]):
        result = shell("</", *command)
        assert result.returncode == 1 and "cannot read the input: Is a directory" in result.stderr, result


@pytest.mark.parametrize("files", range(3, 14))
def test_too_few_open_files_are_named(files):
    command = [HEARTH, "serve", TINY_DENSE, "--max-model-len", "64", "--num-gpu-blocks-override", "40", "--port", "0"]
    result = shell("", "timeout", "3", *command, limit=f"ulimit -n {files}")
    assert result.returncode in (0, 1, 124, 127), result
    assert "terminate called" not in result.stderr
    if result.returncode == 1:
        assert "oo many open files" in result.stderr or "cannot open shared object" in result.stderr, result


def test_speed_of_a_short_answer_is_the_engine_s():
    text = hearth("run", TINY_DENSE, "--override-generation-config.temperature", "0", "--verbose", input="Hello!").stderr
    speeds = [float(s) for s in re.findall(r"\(([\d.]+) tok/s\)", text)]
    assert len(speeds) == 2 and all(0 < s < 50000 for s in speeds), text


def test_model_without_a_chat_template_says_so(tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(TINY_DENSE, folder)
    (folder / "chat_template.jinja").unlink()
    assert "no chat template" in hearth("run", folder, "Hello!", "--max-model-len", "64").stderr


def test_run_draws_with_care_where_nothing_says_how(tmp_path, home):
    folder = tmp_path / "model"
    shutil.copytree(TINY_DENSE, folder)
    (folder / "generation_config.json").write_text('{"eos_token_id": 1026}')
    for flags, shown in (([], '"top_k": 40'), (["--override-generation-config.top_p", "0.5"], '"top_p": 0.5'),
                         (["--generation-config", "vllm"], "No parameter is set.")):
        t = Terminal("run", folder, "--max-model-len", "64", *flags, env=home)
        t.wait_for(">>> ")
        t.send("/show parameters\r")
        t.wait_for(shown)
        t.wait_for(">>> ")
        t.send("/bye\r")
        assert t.end() == 0


def test_unknown_log_level():
    assert "LOUD" in hearth("show", TINY_DENSE, env={"VLLM_LOGGING_LEVEL": "loud"}, code=2).stderr


class Terminal:
    def __init__(self, *args, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", **(env or {})})
            os.execv(str(HEARTH), [str(HEARTH), *map(str, args)])
        self.text = ""

    def wait_for(self, word, seconds=60 * PATIENCE):
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

    def end(self, seconds=20 * PATIENCE):
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
    t.wait_for(">>> ", 10 * PATIENCE)
    t.send("half a line\x03")
    t.send("/show system\r")
    t.wait_for("There is no system message.")
    t.send("/bye\r")
    assert t.end() == 0


def test_ctrl_c_leaves_an_open_multi_line_text(home):
    t = Terminal("run", TINY_DENSE, "--max-model-len", "512", env=home)
    t.wait_for(">>> ")
    t.send('"""never closed\r')
    t.wait_for("... ")
    t.send("more\x03")
    t.wait_for(">>> ", 10)
    t.send("/show messages\r")
    t.wait_for("[]")
    t.send("/show system\r")
    t.wait_for("There is no system message.")
    t.wait_for(">>> ")
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
