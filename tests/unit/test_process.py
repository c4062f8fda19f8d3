"""Programs that we start cannot take more time, memory or processes than we give them."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tritonwin.facts import process
from tritonwin.facts.process import Completed, end_running, run

FOREVER = "import time; time.sleep(600)"


def python(program: str, timeout: float = 30, stdin: bytes = b"") -> Completed:
    return run(sys.executable, ("-I", "-S", "-c", program), timeout=timeout, stdin=stdin)


def ended(number: int, within: float = 5) -> bool:
    """Whether the process is gone, or a zombie that nobody has waited for yet."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{number}/stat").read_text("ascii").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_output_input_and_status() -> None:
    done = python(
        "import sys; print(sys.stdin.read()); sys.stderr.write('e'); sys.exit(7)", 30, b"x"
    )
    assert (done.code, done.out.split(), done.err) == (7, [b"x"], b"e")


@pytest.mark.parametrize("size", [0, 2**20])
def test_a_program_that_does_not_read(size: int) -> None:
    assert python("pass", stdin=b"x" * size).code == 0


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood_is_ended_and_bounded(stream: int) -> None:
    started = time.monotonic()
    done = python(f"import os\nwhile True: os.write({stream}, b'x' * 65536)", timeout=60)
    assert time.monotonic() - started < 30
    assert done.code != 0
    assert not done.timed_out
    assert process.OUTPUT_LIMIT < len(done.out + done.err) < process.OUTPUT_LIMIT + 2**20


def test_what_was_said_before_the_time_limit_is_kept() -> None:
    done = python(f"print('asking', flush=True); {FOREVER}", timeout=2)
    assert done.timed_out
    assert done.out.strip() == b"asking"


@pytest.mark.skipif(os.name == "nt", reason="reads /proc")
def test_the_whole_tree_ends_at_the_time_limit() -> None:
    child = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    done = python(f"{child}; print(p.pid, flush=True); p.wait()", timeout=2)
    assert done.timed_out
    assert ended(int(done.out))


@pytest.mark.skipif(os.name == "nt", reason="reads /proc")
def test_a_survivor_that_holds_the_pipes_does_not_hold_us() -> None:
    child = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    started = time.monotonic()
    done = python(f"{child}; print(p.pid, flush=True)", timeout=60)
    assert done.code == 0
    assert time.monotonic() - started < 30
    assert ended(int(done.out))


def test_all_waits_can_be_ended() -> None:
    results: list[Completed] = []
    threads = [
        threading.Thread(target=lambda: results.append(python(FOREVER, timeout=60)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    while len(results) < len(threads) and time.monotonic() < deadline:
        end_running()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert [(r.timed_out, r.code == 0) for r in results] == [(False, False)] * 3


def test_a_bare_name_is_refused() -> None:
    with pytest.raises(ValueError, match="absolute"):
        run("python", timeout=1)
