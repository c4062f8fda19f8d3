"""`tritonwin run` owns nothing of the program that it starts: neither its Ctrl-C nor its ending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pace import PATIENCE, wait_for

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")

ANSWERS = """
import signal, sys, time
def answer(number, frame):
    sys.exit(7)
signal.signal(signal.SIGINT, answer)
open(sys.argv[1], "w")
for _ in range(6000):
    time.sleep(0.1)  # one that is about to begin does not see a signal
"""


def started(tmp_path: Path) -> subprocess.Popen[bytes]:
    begun = tmp_path / "begun"
    words = ["run", "--python", sys.executable, "--", "-c", ANSWERS, str(begun)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", *words], stderr=subprocess.PIPE, start_new_session=True
    )
    wait_for(begun.exists)
    return process


def test_ctrl_c_is_the_programs(tmp_path: Path) -> None:
    process = started(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (7, b"")


def test_ctrl_c_of_ours_alone_ends_nothing(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, said) == (128 + signal.SIGTERM, b"")


def test_a_program_that_is_killed() -> None:
    code = "import os; os.kill(os.getpid(), 9)"
    words = ["run", "--python", sys.executable, "--", "-c", code]
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin", *words], check=False, timeout=PATIENCE
    )
    assert done.returncode == 128 + signal.SIGKILL
