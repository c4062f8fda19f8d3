"""Logs that another program is still writing, and what is no log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pace import PATIENCE

posix = pytest.mark.skipif(os.name == "nt", reason="signals and named pipes of POSIX")
LINE = b"RuntimeError: Failed to find C compiler.\n"
# more than what a pipe holds: once it is written, LINE has been taken
MORE = b"and so on\n" * 250_000
EXPLAIN = (sys.executable, "-m", "tritonwin", "explain")


@pytest.fixture
def heard() -> Iterator[None]:
    """A shell that starts the tests in the background has Ctrl-C ignored, here and in children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@posix
@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("blocking", [True, False])
def test_ctrl_c_is_for_the_program_that_writes_the_log(blocking: bool) -> None:
    """The other program ends, and with it the pipe: what came before is explained."""
    ours, theirs = os.pipe()
    os.set_blocking(ours, blocking)
    process = subprocess.Popen(
        [*EXPLAIN, "--json"], stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(ours)
    with os.fdopen(theirs, "wb") as stream:
        stream.write(LINE + MORE)  # until the most of it was read
        stream.flush()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, b"")
    document = json.loads(out)
    assert [p["id"] for p in document["problems"]] == ["no-c-compiler"]
    assert document["lines"] == 250_001


@pytest.mark.parametrize(
    "device", [os.devnull, *(["NUL.log"] if os.name == "nt" else ["/dev/zero"])]
)
@pytest.mark.parametrize(
    "words",
    [
        lambda saved, device: ("explain", device),
        lambda saved, device: ("doctor", "--markdown", "--snapshot", saved, "--log", device),
    ],
    ids=["explain", "doctor"],
)
def test_a_device_is_no_log(
    saved: Path, device: str, words: Callable[[str, str], tuple[str, ...]]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin", *words(str(saved), device)],
        capture_output=True, check=False, timeout=PATIENCE / 4,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{device} is a device".encode() in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="NUL is called a terminal there")
@pytest.mark.parametrize("args", [(), ("-",)])
def test_what_runs_in_the_background_has_an_empty_log(args: tuple[str, ...]) -> None:
    done = subprocess.run(
        [*EXPLAIN, *args], stdin=subprocess.DEVNULL, capture_output=True, check=False,
        timeout=PATIENCE,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the log is empty" in done.stderr
