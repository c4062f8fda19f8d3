"""Programs that we start cannot take more time, memory or processes than we give them."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from pace import given_time, gone, wait_for

from tritonwin.system import process
from tritonwin.system.process import Completed, end_running, run

FOREVER = "import time; time.sleep(600); print('ended by itself')"


def python(program: str, timeout: float = 120, stdin: bytes = b"") -> Completed:
    return run(sys.executable, ("-I", "-S", "-c", program), timeout=timeout, stdin=stdin)


def test_output_input_and_status() -> None:
    done = python(
        "import sys; print(sys.stdin.read()); sys.stderr.write('e'); sys.exit(7)", stdin=b"x"
    )
    assert (done.code, done.out.split(), done.err) == (7, [b"x"], b"e")


@pytest.mark.parametrize("size", [0, 2**20])
def test_a_program_that_does_not_read(size: int) -> None:
    assert python("pass", stdin=b"x" * size).code == 0


@pytest.mark.parametrize("stream", [1, 2])
def test_a_flood_is_ended_and_bounded(stream: int) -> None:
    done = python(f"import os\nwhile True: os.write({stream}, b'x' * 65536)")
    assert done.code != 0
    assert not done.timed_out
    assert process.OUTPUT_LIMIT < len(done.out + done.err) < process.OUTPUT_LIMIT + 2**20


def test_what_was_said_before_the_time_limit_is_kept() -> None:
    done = given_time(
        lambda limit: python(f"print('asking', flush=True); {FOREVER}", limit),
        lambda done: bool(done.out),
    )
    assert done.timed_out
    assert done.out.strip() == b"asking"


@pytest.mark.skipif(os.name == "nt", reason="reads /proc")
def test_the_whole_tree_ends_at_the_time_limit() -> None:
    child = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    done = given_time(
        lambda limit: python(f"{child}; print(p.pid, flush=True); p.wait()", limit),
        lambda done: bool(done.out),
    )
    assert done.timed_out
    wait_for(lambda: gone(int(done.out)))


@pytest.mark.skipif(os.name == "nt", reason="reads /proc")
def test_a_survivor_that_holds_the_pipes_does_not_hold_us() -> None:
    child = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])"
    done = python(f"{child}; print(p.pid, flush=True)")
    assert done.code == 0
    assert done.out.split()[1:] == []  # it did not come to its own end
    wait_for(lambda: gone(int(done.out)))


def test_all_waits_can_be_ended() -> None:
    results: list[Completed] = []
    threads = [threading.Thread(target=lambda: results.append(python(FOREVER))) for _ in range(3)]
    for thread in threads:
        thread.start()

    def ended() -> bool:
        end_running()
        return len(results) == len(threads)

    wait_for(ended)
    for thread in threads:
        thread.join()
    assert [(r.timed_out, r.code == 0) for r in results] == [(False, False)] * 3


def test_a_bare_name_is_refused() -> None:
    with pytest.raises(ValueError, match="absolute"):
        run("python", timeout=1)
