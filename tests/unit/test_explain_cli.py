"""`tritonwin explain` as people and programs use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import healthy
import jsonschema
import pytest

from tritonwin.facts import snapshot
from tritonwin.facts.redaction.identity import Identity
from tritonwin.output import schema

LOG = """\
** Python executable: F:\\Comfy UI\\python_embeded\\python.exe
  File "F:\\Comfy UI\\python_embeded\\Lib\\site-packages\\triton\\runtime\\build.py", line 71, in _build
error C2872: 'std': ambiguous symbol (compiled_autograd.h)
"""
UNKNOWN = 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: \x1b[2J"x"\n'


def run(*args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tritonwin", "explain", *args],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1"},
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "build.log"
    file.write_bytes(LOG.encode("utf-16"))
    return file


def test_a_log_is_explained(log: Path) -> None:
    done = run(str(log))
    text = done.stdout.decode()
    assert done.returncode == 1, done.stderr
    assert "[msvc-std-ambiguous]" in text
    assert "    - error C2872: 'std': ambiguous symbol (compiled_autograd.h) (in line 3)" in text
    assert "help: " in text
    assert "Found in the log: Python F:\\Comfy UI\\python_embeded\\python.exe" in text
    assert done.stderr == b""


@pytest.mark.parametrize("args", [(), ("-",)])
def test_standard_input(args: tuple[str, ...]) -> None:
    done = run(*args, stdin=LOG.encode())
    assert done.returncode == 1
    assert b"[msvc-std-ambiguous]" in done.stdout


def test_json_follows_its_schema(log: Path) -> None:
    done = run(str(log), "--json")
    assert done.stdout.isascii()
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema.load("tritonwin.explain/1"))
    assert document["schema"] == "tritonwin.explain/1"
    assert document["log"] == str(log)
    assert document["lines"] == 3
    assert document["problems"][0]["id"] == "msvc-std-ambiguous"
    assert document["problems"][0]["evidence"][0]["where"] == "line 3"
    assert document["checks"] == []


def test_an_unknown_log_is_no_failure_and_says_where_to_look() -> None:
    done = run(stdin=UNKNOWN.encode())
    text = done.stdout.decode()
    assert done.returncode == 0
    assert "no problem that tritonwin knows" in text
    assert 'line 3: KeyError: "x"' in text
    assert "tritonwin snapshot" in text
    assert "\x1b" not in text


def test_a_healthy_log_gets_no_advice() -> None:
    text = run(stdin=b"all is well\n").stdout.decode()
    assert "no problem that tritonwin knows" in text
    assert "snapshot" not in text


def test_a_snapshot_adds_what_the_log_does_not_say(tmp_path: Path) -> None:
    facts = tmp_path / "facts.json"
    snapshot.write(healthy.changed(triton=None), facts, Identity())
    line = b"RuntimeError: Cannot find a working triton installation.\n"
    document = json.loads(run("--snapshot", str(facts), "--json", stdin=line).stdout)
    assert document["snapshot"] == str(facts)
    assert document["problems"][0]["id"] == "triton-missing"
    assert document["problems"][0]["certainty"] == "certain"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("none.log",), b"cannot read none.log"),
        ((".",), b"cannot read ."),
        (("--snapshot", "none.json", "-"), b"none.json does not exist"),
        (("--nonsense",), b"nonsense"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(
    args: tuple[str, ...], message: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*args)
    assert done.returncode == 2
    assert message in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


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
