"""Completion for shells. bash is run for real; PowerShell and zsh by their protocol alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tritonwin import COMMANDS
from tritonwin.cli.app import run
from tritonwin.cli.options import COMPLETING

BASH = Path("/bin/bash")


def complete(*words: str, incomplete: str = "") -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={
            **os.environ,
            COMPLETING: "powershell_complete",
            "COMP_WORDS": "\n".join(("tritonwin", *words, *([incomplete] if incomplete else []))),
            "COMP_WORD": incomplete,
        },
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_every_command_is_offered_with_a_word_on_it() -> None:
    found = complete()
    assert [value for _, value, _ in found] == list(COMMANDS)
    assert all(text for _, _, text in found)


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ((), "pa", ["patch"]),
        (("doctor",), "--ma", ["--markdown"]),
        (("doctor", "--app", "C:\\a b"), "--snap", ["--snapshot"]),
        (("completion",), "", ["powershell", "bash", "zsh"]),
        (("nothing",), "", []),
    ],
)
def test_powershell(words: tuple[str, ...], incomplete: str, expected: list[str]) -> None:
    found = [value for _, value, _ in complete(*words, incomplete=incomplete)]
    assert found == expected or (not expected and found == list(COMMANDS))


@pytest.mark.parametrize("shell", ["powershell", "bash", "zsh"])
def test_the_script_names_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "tritonwin" in text
    assert COMPLETING in text
    assert "%(" not in text


@pytest.mark.skipif(not BASH.exists(), reason="no bash here")
def test_bash_itself(tmp_path: Path) -> None:
    program = tmp_path / "tritonwin"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tritonwin "$@"\n')
    program.chmod(0o755)
    script = (
        "source <(tritonwin completion bash); COMP_WORDS=(tritonwin snap); COMP_CWORD=1; "
        '_tritonwin_completion tritonwin; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [str(BASH), "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"},
    )
    assert done.stdout.strip() == "snapshot"


def test_no_arguments_give_the_state_and_the_next_step() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tritonwin"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout.startswith(("Triton ", "A "))
    assert re.search("-m tritonwin (doctor|verify)$", done.stdout, re.MULTILINE)
    assert len(done.stdout.splitlines()) == 4
