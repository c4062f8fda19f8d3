"""What no part of the source may do: shells, unknown starts of programs, code from files."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import tritonwin
from tritonwin.build.toolkit import _unpack

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
    assert [(file, name) for file, name, _ in ALL_CALLS if name in shells] == []
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


@pytest.mark.parametrize("name", ["../evil", "C:/evil", "a/../../evil", "x/C:evil"])
def test_a_part_of_a_toolkit_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    wheel = tmp_path / "part.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("nvidia/cu13/bin/nvcc", "x")
        made.writestr(f"nvidia/cu13/{name}", "evil")
    _unpack(wheel, tmp_path / "in" / "to")
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["nvcc", "part.whl"]
