"""Logs that another program is still writing, and what is no log."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import healthy
import pytest
from pace import PATIENCE

from tritonwin.cli import logs
from tritonwin.cli.logs import Incoming
from tritonwin.cli.signals import ctrl_c_noted
from tritonwin.facts import snapshot
from tritonwin.facts.redaction.identity import Identity

posix = pytest.mark.skipif(os.name == "nt", reason="signals and named pipes of POSIX")
LINE = b"RuntimeError: Failed to find C compiler.\n"
# more than what a pipe holds: once it is written, LINE has been taken
MORE = b"and so on\n" * 250_000
EXPLAIN = (sys.executable, "-m", "tritonwin", "explain")


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        os.close(ours)
        os.close(theirs)


def test_what_comes_is_read_to_its_end() -> None:
    content = os.urandom(3_000_000)
    ours, theirs = os.pipe()

    def write() -> None:
        with os.fdopen(theirs, "wb") as stream:
            stream.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    coming = io.BufferedReader(Incoming(ours, lambda: False))
    found = list(iter(lambda: coming.read(1 << 20), b""))
    writer.join()
    assert [len(block) for block in found[:-1]] == [1 << 20] * 2
    assert b"".join(found) == content
    assert coming.read(1) == b""
    os.close(ours)


@posix
@pytest.mark.parametrize("blocking", [True, False])
def test_nobody_closes_the_pipe(blocking: bool) -> None:
    asked: list[None] = []

    def enough() -> bool:
        asked.append(None)
        if len(asked) == 2:
            os.write(theirs, LINE)
        return len(asked) > 4

    with pipe() as (ours, theirs):
        os.set_blocking(ours, blocking)
        assert io.BufferedReader(Incoming(ours, enough)).read() == LINE


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as stream:  # which is not for reading
        coming = Incoming(stream.fileno(), lambda: False)
        with pytest.raises(OSError, match="descriptor"):
            coming.readinto(bytearray(10))


@pytest.fixture
def heard() -> Iterator[None]:
    """A shell that starts the tests in the background has Ctrl-C ignored, here and in children."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_a_second_ctrl_c_is_as_ever() -> None:
    with ctrl_c_noted() as noted:
        assert not noted()
        signal.raise_signal(signal.SIGINT)
        assert noted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def explained_until_ctrl_c(process: subprocess.Popen[bytes], to: int) -> tuple[bytes, bytes]:
    with os.fdopen(to, "wb") as stream:
        stream.write(LINE + MORE)
        stream.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, err
    assert b"Traceback" not in err
    return out, err


@posix
@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_what_is_piped_in() -> None:
    ours, theirs = os.pipe()
    process = subprocess.Popen(
        [*EXPLAIN, "--json"], stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(ours)
    out, err = explained_until_ctrl_c(process, theirs)
    document = json.loads(out)
    assert [p["id"] for p in document["problems"]] == ["no-c-compiler"]
    assert 1 < document["lines"] <= 250_001
    assert b"ended by Ctrl-C" in err


@posix
@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_a_named_pipe(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    if sys.platform != "win32":
        os.mkfifo(fifo)
    process = subprocess.Popen(
        [*EXPLAIN, str(fifo)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = explained_until_ctrl_c(process, os.open(fifo, os.O_WRONLY))
    assert b"[no-c-compiler]" in out
    assert b"ended by Ctrl-C" in err


@pytest.fixture
def saved(tmp_path: Path) -> str:
    file = tmp_path / "facts.json"
    snapshot.write(healthy.changed(triton=None), file, Identity())
    return str(file)


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
    saved: str, device: str, words: Callable[[str, str], tuple[str, ...]]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin", *words(saved, device)],
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


class Watched(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_whoever_watches_is_told_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.pipe()
    os.write(theirs, LINE)
    os.close(theirs)
    shown = Watched()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys, "stdin", os.fdopen(ours))
    monkeypatch.setattr(logs, "_SILENT", 0.0)
    with sys.stdin, logs.piped_in() as stream:
        assert stream.read() == LINE
    assert "Ctrl-C ends it here" in shown.getvalue()
