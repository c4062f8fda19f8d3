"""docs/threats.md: every test that it names is there, and what the whole of the source must not do."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import fuzz_record
import pytest
from targets import TARGETS

import tritonwin
from tritonwin.build.toolkit import _unpack

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threats.md").read_text("utf-8")
PACKAGE = Path(tritonwin.__file__).parent
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))

# Modules that start programs, each by an absolute path; all others ask system/process.py to.
STARTERS = {
    "build/heavy_first.py": "stands for ninja in a build, and starts it",
    "build/job.py": "a build, whose output is followed",
    "build/keeper.py": "ends a build whose tritonwin was killed",
    "build/session.py": "starts the keeper",
    "cli/run.py": "the user's own program, in the user's console",
    "system/process.py": "with limits of time and output",
}
# Carried into a target, where nothing of tritonwin can be imported.
CARRIED = ("patch/payload/", "verify/rungs/")


def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_page_names_tests_that_are_there() -> None:
    assert len(NAMED) >= 50
    assert [f"{file}::{name}" for file, name in NAMED if name not in functions_in(file)] == []


def test_every_threat_has_a_test() -> None:
    threats = PAGE.split("\n## ")[1:]
    bare = [t.split("\n")[0] for t in threats if "\n- " in t and "::test_" not in t]
    assert bare == []


def test_the_table_of_what_was_fuzzed_is_fresh() -> None:
    assert fuzz_record.filled(PAGE, TARGETS, fuzz_record.read()) == PAGE, (
        "run: python tools/fuzz_record.py"
    )
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(TARGETS)


def test_every_fuzz_target_has_been_run() -> None:
    runs = fuzz_record.read()
    assert {run.target for run in runs} == set(TARGETS)
    assert {run.engine for run in runs} <= set(fuzz_record.ENGINES)
    assert all(run.executions > 0 for run in runs)


def test_no_inputs_count_twice() -> None:
    plain = [(run.target, run.seed) for run in fuzz_record.read() if run.engine == "plain"]
    assert len(plain) == len(set(plain))


def test_runs_add_up(tmp_path: Path) -> None:
    run = fuzz_record.Run(
        target="pe", executions=5, seconds=1, engine="plain", seed=0, date="", commit=""
    )
    record = tmp_path / "record.json"
    for _ in range(2):
        fuzz_record.add([run, replace(run, engine="atheris", executions=7)], record)
    runs = fuzz_record.read(record)
    assert fuzz_record.executions(runs, "pe") == 12
    assert fuzz_record.executions(runs, "pe", "atheris") == 7
    assert fuzz_record.executions(runs, "log") == 0
    page = "a\n<!-- generated: fuzzing -->\n\n\n<!-- end -->\nb"
    few = fuzz_record.filled(page, {"pe": _pe}, runs)
    assert "| `pe` | DLLs | 5 | 7 | 12 |" in few
    assert "less than 1,000,000" in few
    enough = fuzz_record.filled(page, {"pe": _pe}, [*runs, replace(run, executions=999_988)])
    assert "less than" not in enough


def _pe() -> None:
    """DLLs."""


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
    """The hook reads what it compiled itself, which is as trusted as the .pyc beside it."""
    runs = {"eval", "exec", "pickle.load", "pickle.loads", "marshal.load", "marshal.loads"}
    found = {f for f, name, _ in ALL_CALLS if name in runs}
    assert found <= {"patch/hook/runtime.py"}


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
