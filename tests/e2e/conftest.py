"""Starts the real program and gives tests its address.

HEARTH (default build/hearth) is the program; HEARTH_MODELS (default ~/.cache/hearth/models) holds real models, which
tools/fetch_models.py brings; a test that needs one absent is skipped by name. A program built with sanitizers (make asan,
make tsan) gets more time, and a test in which one of its processes reports something fails, whatever it was about.
"""
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
HEARTH = pathlib.Path(os.environ.get("HEARTH", ROOT / "build" / "hearth"))
MODELS = pathlib.Path(os.environ.get("HEARTH_MODELS", pathlib.Path.home() / ".cache" / "hearth" / "models"))
SANITIZED = HEARTH.exists() and any(mark in HEARTH.read_bytes() for mark in (b"__asan_init", b"__tsan_init"))
PATIENCE = 10 if SANITIZED else 1  # times the longest wait for something that must come
START_SECONDS = float(os.environ.get("HEARTH_START_SECONDS", 120 * PATIENCE))

TINY_MOE = GOLDEN / "qwen3_5_moe_tiny" / "bf16"
TINY_FP8 = GOLDEN / "qwen3_5_moe_tiny" / "fp8"
TINY_DENSE = GOLDEN / "qwen3_5_dense_tiny"


REPORTS = tempfile.TemporaryDirectory(prefix="hearth-reports-")
for _options in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
    os.environ[_options] = f"{os.environ.get(_options, '')}:log_path={REPORTS.name}/report"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Of each test and of the modules' servers: no process of the program left a sanitizer's report."""
    try:
        return (yield)
    finally:
        reports = [(file, file.read_text(errors="replace")) for file in pathlib.Path(REPORTS.name).iterdir()]
        for file, _ in reports:
            file.unlink()
        if reports:
            pytest.fail("\n".join(text for _, text in reports), pytrace=False)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running `hearth serve`. url has no /v1."""

    def __init__(self, model, *args, env=None, port=None, scheme="http", log_path=None):
        self.port = port or free_port()
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.log_path = log_path
        self._log = open(log_path, "wb")
        command = [str(HEARTH), "serve", str(model), "--host", "127.0.0.1", "--port", str(self.port), *map(str, args)]
        self.process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})

    @property
    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")

    def wait_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log}")
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=2) as reply:
                    if reply.status == 200:
                        return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass
            time.sleep(0.05)
        raise AssertionError(f"not ready after {START_SECONDS} s:\n{self.log}")

    def stop(self, sig=signal.SIGTERM, timeout=30 * PATIENCE):
        if self.process.poll() is None:
            self.process.send_signal(sig)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"the server did not end within {timeout} s of the signal:\n{self.log}")
        self._log.close()
        return self.process.returncode

    def metric(self, name):
        """Sum of a series over its labels."""
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as reply:
            text = reply.read().decode()
        values = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                  if line.startswith((name + "{", name + " "))]
        assert values, f"no series {name}"
        return sum(values)


@pytest.fixture
def serve(tmp_path):
    """serve(model, *flags) → a ready Server; stopped at the end of the test (exit code 0 expected)."""
    servers = []

    def start(model, *args, wait=True, **kwargs):
        server = Server(model, *args, log_path=tmp_path / f"server{len(servers)}.log", **kwargs)
        servers.append(server)
        return server.wait_ready() if wait else server

    yield start
    for server in servers:
        if server.process.poll() is None:
            assert server.stop() == 0, server.log


def module_server(model, *args, **kwargs):
    """A module-scoped fixture body: yields one ready server."""

    @pytest.fixture(scope="module")
    def server(tmp_path_factory):
        s = Server(model, *args, log_path=tmp_path_factory.mktemp("server") / "server.log", **kwargs).wait_ready()
        yield s
        assert s.stop() == 0, s.log

    return server


def client(server, **kwargs):
    import openai

    return openai.OpenAI(base_url=server.url + "/v1", api_key="x", max_retries=0, timeout=300, **kwargs)


def need_model(name):
    path = MODELS / name
    if not path.exists():
        pytest.skip(f"skipped: no model file {name} in {MODELS} (tools/fetch_models.py brings it)")
    return path
