"""Ctrl-C ends the programs that threads wait for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

from tritonwin.facts.process import Completed, run
from tritonwin.facts.waiting import waiting_threads


def hang() -> list[Completed]:
    """Like the probe: a second start where the first gave no answer."""
    return [
        run(sys.executable, ("-I", "-S", "-c", "import time; time.sleep(600)"), timeout=300)
        for _ in range(2)
    ]


def test_results_and_errors_come_through() -> None:
    with waiting_threads() as threads:
        assert threads.result(threads.submit(int, "7")) == 7
        with pytest.raises(ValueError, match="seven"):
            threads.result(threads.submit(int, "seven"))


def test_an_interrupted_block_ends_every_program() -> None:
    def interrupted() -> None:
        with waiting_threads(most=2) as threads:
            waiting.extend(threads.submit(hang) for _ in range(4))
            time.sleep(0.5)
            raise KeyboardInterrupt

    waiting: list[Future[list[Completed]]] = []
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - started < 60
    assert all(future.done() for future in waiting)


@pytest.mark.skipif(os.name == "nt", reason="a process there cannot be sent a Ctrl-C alone")
def test_ctrl_c_while_the_target_hangs(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\nsleep 600\n", encoding="ascii")
    program.chmod(0o755)
    tool = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", "doctor", "--timeout", "300", "--python", str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    tool.send_signal(signal.SIGINT)
    out, err = tool.communicate(timeout=60)
    assert (tool.returncode, out, err.strip()) == (130, b"", b"interrupted")
