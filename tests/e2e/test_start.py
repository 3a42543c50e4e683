"""The way to "ready": what is printed, and a signal that comes before it."""
import os
import re
import signal
import time

import pytest

from conftest import TINY_DENSE, TINY_MOE


def wait_for(server, pattern, seconds=60):
    deadline = time.monotonic() + seconds
    while not re.search(pattern, server.log, re.M):
        assert server.process.poll() is None, server.log
        assert time.monotonic() < deadline, server.log
        time.sleep(0.002)


def test_progress_in_a_log_is_a_few_lines_and_ends_at_what_was_read(serve):
    log = serve(TINY_MOE).log  # with a picture encoder and a draft head, which are not read
    shown = [line for line in log.splitlines() if "loading" in line or "reserving" in line]
    assert len([line for line in shown if re.search(r"(loading|reserving memory): [\d.]+ \S+ in [\d.]+ s$", line)]) == 2
    for stage in ("loading", "reserving memory"):
        percents = [int(p) for p in re.findall(stage + r": (\d+) %", log)]
        assert percents == sorted(percents) and len(percents) <= 6, shown
        sizes = re.findall(stage + r": ([\d.]+ \w+)(?: in|$)", log, re.M)
        assert len(sizes) == 2 and sizes[0] == sizes[1], shown


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_files_are_read_ends_the_start(serve, tmp_path, sig):
    os.mkfifo(tmp_path / "template")  # nobody writes: reading it takes for ever
    server = serve(TINY_DENSE, "--chat-template", tmp_path / "template", "--uds", tmp_path / "socket", wait=False)
    wait_for(server, r"INFO model ")
    assert server.stop(sig, timeout=10) == 0
    assert not (tmp_path / "socket").exists()
    assert f"{sig.name}: stopped while loading" in server.log


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_memory_is_reserved_ends_the_start(serve, sig):
    server = serve(TINY_MOE, "--kv-cache-memory-bytes", "2G", "--max-num-seqs", "64", wait=False)
    wait_for(server, r"reserving memory: ")
    assert server.stop(sig, timeout=10) == 0
    assert f"{sig.name}: stopped while loading" in server.log
    assert "Application startup complete" not in server.log
