"""`tritonwin explain` as people and programs use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Call

LOG = """\
** Python executable: F:\\Comfy UI\\python_embeded\\python.exe
  File "F:\\Comfy UI\\python_embeded\\Lib\\site-packages\\triton\\runtime\\build.py", line 71, in _build
error C2872: 'std': ambiguous symbol (compiled_autograd.h)
"""
UNKNOWN = 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: \x1b[2J"x"\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "build.log"
    file.write_bytes(LOG.encode("utf-16"))
    return file


def test_a_log_is_explained(call: Call, log: Path) -> None:
    done = call("explain", log)
    assert (done.status, done.err) == (1, "")
    assert "[msvc-std-ambiguous]" in done.out
    assert (
        "    - error C2872: 'std': ambiguous symbol (compiled_autograd.h) (in line 3)" in done.out
    )
    assert "help: " in done.out
    assert (
        "Found in the log: Python (embedded) F:\\Comfy UI\\python_embeded\\python.exe" in done.out
    )
    for args in ((), ("-",)):
        typed = call("explain", *args, stdin=LOG.encode())
        assert (typed.status, "[msvc-std-ambiguous]" in typed.out) == (1, True)


def test_a_log_as_a_document(call: Call, log: Path) -> None:
    done = call("explain", log, "--json")
    assert done.out.isascii()
    document = done.document
    assert (document["schema"], document["log"]) == ("tritonwin.explain/1", str(log))
    assert (document["lines"], document["checks"]) == (3, [])
    (problem,) = document["problems"]
    assert problem["id"] == "msvc-std-ambiguous"
    assert problem["evidence"][0]["where"] == "line 3"


def test_an_unknown_log_is_no_failure_and_says_where_to_look(call: Call) -> None:
    done = call("explain", stdin=UNKNOWN.encode())
    assert done.status == 0
    assert "no problem that tritonwin knows" in done.out
    assert 'line 3: KeyError: "x"' in done.out
    assert "tritonwin snapshot" in done.words
    assert "\x1b" not in done.out
    healthy_log = call("explain", stdin=b"all is well\n").out
    assert "no problem that tritonwin knows" in healthy_log
    assert "snapshot" not in healthy_log


def test_a_snapshot_adds_what_the_log_does_not_say(call: Call, saved: Path) -> None:
    line = b"RuntimeError: Cannot find a working triton installation.\n"
    document = call("explain", "--snapshot", saved, "--json", stdin=line).document
    assert document["snapshot"] == str(saved)
    (problem, *_) = document["problems"]
    assert (problem["id"], problem["certainty"]) == ("triton-missing", "certain")


@pytest.mark.skipif(os.name == "nt", reason="a terminal of POSIX")
@pytest.mark.parametrize(
    ("args", "status", "said"),
    [(["-"], 1, "Type the lines with the error, then Ctrl-D"), ([], 2, "no log was given")],
)
def test_lines_are_typed_where_that_is_asked_for(args: list[str], status: int, said: str) -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"ModuleNotFoundError: No module named 'triton'\n\x04")
        done = subprocess.run(
            [sys.executable, "-m", "tritonwin", "explain", *args], stdin=theirs, check=False,
            capture_output=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, said in done.stderr) == (status, True), done
    assert ("[triton-missing]" in done.stdout) == (status == 1)
