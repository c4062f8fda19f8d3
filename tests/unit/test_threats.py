"""Forbidden in the source: shells, unknown starts of programs, code from files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import CORPUS

import tritonwin

PACKAGE = Path(tritonwin.__file__).parent

# Modules that start programs, each by an absolute path; all others ask system/process.py to.
STARTERS = {
    "build/job.py": "a build, whose output is followed",
    "build/session.py": "starts the leader of a build, which ends it when tritonwin was killed",
    "cli/run.py": "the user's own program, in the user's console",
    "system/process.py": "with limits of time and output",
}
# Carried into a target, where nothing of tritonwin can be imported.
CARRIED = ("patch/payload/", "verify/rungs/")


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """File, name and node of every call in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield name, ast.unparse(node.func), node


ALL_CALLS = list(calls())


def test_no_shell_is_asked_to_run_anything() -> None:
    shells = {"os.system", "os.popen", "os.startfile", "subprocess.getoutput"}
    # the address of the local page, for the user's browser
    page = [("front/door.py", "os.startfile")]
    assert [(file, name) for file, name, _ in ALL_CALLS if name in shells] == page
    with_shell = [
        file
        for file, _, call in ALL_CALLS
        for keyword in call.keywords
        if keyword.arg == "shell" and ast.unparse(keyword.value) != "False"
    ]
    assert with_shell == []


def test_programs_are_started_in_known_places_only() -> None:
    starts = {
        "os.execvp",
        "os.execl",
        "subprocess.run",
        "subprocess.Popen",
        "subprocess.check_output",
        "os.execv",
    }
    found = {f for f, name, _ in ALL_CALLS if name in starts and not f.startswith(CARRIED)}
    assert found == set(STARTERS)


def test_nothing_that_was_read_is_run_as_code() -> None:
    """The hook reads what it compiled itself, which is as trusted as the .pyc beside it.

    The driver's launcher compiles text that it makes of a kernel's signature.
    """
    runs = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads"}
    found = {f for f, name, _ in ALL_CALLS if name in runs}
    assert found <= {"patch/hook/runtime.py", "driver/payload/launch.py"}


@pytest.mark.parametrize("word", ["runas", "ShellExecute", "CERT_NONE", "_create_unverified"])
def test_no_source_has_the_word(word: str) -> None:
    assert [p for p in PACKAGE.rglob("*.py") if word in p.read_text("utf-8")] == []


# Each fault that an attack on the product found, and the test that fails where it comes back.
ATTACKS = (CORPUS / "attacks.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", ATTACKS)
def test_each_attack_has_a_test(line: str) -> None:
    file, _, name = line.rpartition(": ")[2].partition("::")
    assert f"\ndef {name}(" in Path(__file__).with_name(f"{file}.py").read_text("utf-8")
