"""The command line: every ending has its exit status, and no user sees a traceback."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import pytest
from cases import cases
from commands import Call
from hypothesis import given
from hypothesis import strategies as st

from tritonwin import __version__
from tritonwin.cli import app
from tritonwin.cli.options import compute_capability
from tritonwin.output import schema


def run(*args: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "tritonwin", *args],
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **(env or {})},
    )


def test_version_needs_no_library() -> None:
    code = (
        "import sys; sys.argv[1:] = ['--version']; import tritonwin.__main__ as m; m.main();"
        "sys.exit('click' in sys.modules or 'rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
    assert done.stdout.split() == [b"tritonwin", __version__.encode()]


def test_as_a_module_it_imports_nothing_from_the_current_folder(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what `python -m` itself has imported by then."""
    for name in ("click", "json", "logging", "packaging", "platform", "rich"):
        (saved.parent / f"{name}.py").write_text("raise SystemExit('planted')\n")
    monkeypatch.chdir(saved.parent)
    done = run("doctor", "--snapshot", saved.name)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize(("words", "said"), cases("command_lines.toml", "unasked"))
def test_output_for_programs_asks_nothing(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path))
    done = call(*words.split())
    assert (done.status, said in done.out + done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_doctor_on_a_snapshot(call: Call, saved: Path) -> None:
    done = call("doctor", "--snapshot", saved)
    assert (done.status, done.err) == (1, "")
    assert "[triton-missing]" in done.out
    assert "help:" in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())
    document = call("doctor", "--snapshot", saved, "--json").document
    assert document["problems"][0]["id"] == "triton-missing"
    assert document["target"]["snapshot"] == str(saved)
    only = call("doctor", "--snapshot", saved, "--only", "cpu-only-torch", "--json")
    assert (only.status, [c["id"] for c in only.document["checks"]]) == (0, ["cpu-only-torch"])


def test_the_schema_of_a_document_is_printed(call: Call) -> None:
    done = call("--json-schema", "tritonwin.rungs/1")
    assert (done.status, json.loads(done.out)) == (0, schema.load("tritonwin.rungs/1"))
    refused = call("--json-schema", "tritonwin.rung/1")
    assert (refused.status, "tritonwin.rungs/1" in refused.err) == (2, True)


@pytest.mark.parametrize(("words", "says"), cases("command_lines.toml", "wrong"))
def test_wrong_use_ends_with_2_and_says_what_to_do(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(*shlex.split(words.format(long="n" * 300)))
    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.startswith("error: ")
    assert "help:  " in done.err
    assert "Traceback" not in done.err


def shell(command: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run tritonwin in a POSIX shell, where `"$@"` stands for its command line."""
    words = ["/bin/sh", "-c", command, "sh", sys.executable, "-m", "tritonwin", *args]
    return subprocess.run(words, capture_output=True, check=False, timeout=120)


needs_posix = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is not there")


@needs_posix
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", ">&- 2>&- <&-", "2>/dev/full"])
def test_closed_descriptors_change_no_exit_status(saved: Path, closed: str) -> None:
    done = shell(f'"$@" {closed}', "doctor", "--snapshot", str(saved))
    assert (done.returncode, done.stderr) == (1, b"")
    assert shell(f'"$@" {closed}', "nonsense").returncode == 2


@needs_posix
def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    done = shell(f'cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && "$@"', "doctor")
    assert done.returncode == 2
    assert b"current folder" in done.stderr


@needs_posix
@pytest.mark.parametrize("columns", ["0", "1", "20"])
def test_the_narrowest_terminal(
    call: Call, monkeypatch: pytest.MonkeyPatch, saved: Path, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    done = call("doctor", "--snapshot", saved)
    assert (done.status, "triton-missing" in done.out) == (1, True)


def test_errors_are_json_when_json_is_asked_for(call: Call) -> None:
    done = call("doctor", "--python", "/no/such/python", "--json")
    assert (done.status, done.err) == (2, "")
    assert done.document["schema"] == "tritonwin.error/1"
    assert done.document["error"]["help"]


@pytest.mark.parametrize("words", [("help",), ("help", "doctor"), ("help", "patch", "apply")])
def test_help_is_a_word_as_well(call: Call, words: tuple[str, ...]) -> None:
    assert call(*words) == call(*words[1:], "--help")
    assert call(*words).status == 0


def test_what_is_for_another_program_may_be_empty(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--python", sys.executable, "--", "-c", "import sys; print(sys.argv[1:])"]
    assert app.run([*words, "", "--python="]) == 0
    assert capfd.readouterr().out == "['', '--python=']\n"


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (RuntimeError("boom\x1b[2J"), 3, "tritonwin itself failed: RuntimeError: boom\\x1b[2J\n"),
        (MemoryError(), 3, "the system gives no more threads or memory"),
        (RuntimeError("can't start new thread"), 3, "the system gives no more threads or memory"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_every_failure_is_short(
    call: Call, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, says: str
) -> None:
    def fail(*args: object, **kwargs: object) -> int:
        raise error

    monkeypatch.delenv("TRITONWIN_DEBUG", raising=False)
    monkeypatch.setattr(app.main, "main", fail)
    done = call("doctor")
    assert (done.status, done.err.removeprefix("error: ").startswith(says)) == (status, True)
    assert "Traceback" not in done.err
    assert ("help:  End other programs, or raise the limit" in done.err) == ("system" in says)
    assert (done.err == says) == (status == 130)
    monkeypatch.setenv("TRITONWIN_DEBUG", "1")
    assert ("Traceback" in call("doctor").err) == (status == 3)


def test_a_reader_that_leaves_early_is_no_error(saved: Path) -> None:
    """The same as `doctor | head -1`: something is wrong on that machine."""
    reader = subprocess.Popen(
        [sys.executable, "-m", "tritonwin", "doctor", "--snapshot", str(saved)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reader.stdout
    assert reader.stderr
    reader.stdout.close()
    assert reader.wait(60) == 1
    assert reader.stderr.read() == b""
    reader.stderr.close()


@pytest.mark.parametrize(("variables", "coloured"), [
    ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ({"FORCE_COLOR": "1", "NO_COLOR": ""}, True),
    ({"NO_COLOR": "", "FORCE_COLOR": ""}, False),
])  # fmt: skip
def test_colour_is_a_wish(saved: Path, variables: dict[str, str], coloured: bool) -> None:
    done = run("doctor", "--snapshot", str(saved), env={"TERM": "xterm-256color", **variables})
    assert (b"\x1b[" in done.stdout) is coloured


def test_no_arguments_give_the_state_and_the_next_step() -> None:
    done = run()
    assert done.returncode in {0, 1}, done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(("Triton ", "A "))
    assert re.search("-m tritonwin (doctor|verify)$", "\n".join(lines), re.MULTILINE)
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("text", "arch"),
    [("89", "8.9"), ("8.9", "8.9"), ("sm_120", "12.0"), ("SM89", "8.9"), ("compute_100", "10.0"),
     ("12.0", "12.0"), ("9.0A", "9.0a")],
)  # fmt: skip
def test_a_compute_capability_as_it_is_copied(text: str, arch: str) -> None:
    assert compute_capability(text) == arch


@pytest.mark.parametrize(
    "text",
    ["9", "4.9", "8", "sm_8", "8.9b", "8.9;9.0", "1000", "8,9", "ada", "", "nan", "\u0663", "-5"],
)
def test_what_is_no_compute_capability(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"such as 89, 8\.9 or sm_89"):
        compute_capability(text)


@given(st.text(max_size=20) | st.floats().map(str) | st.integers().map(str))
def test_nothing_else_comes_out(text: str) -> None:
    try:
        assert re.fullmatch(r"[0-9]{1,2}\.[0-9][af]?", compute_capability(text))
    except click.BadParameter:
        pass
