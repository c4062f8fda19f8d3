"""Every release of Triton: which rules it needs, and what they make of it."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest
from installed import target
from trees import describe_tree
from triton_trees import make_tree, mingw, sources
from winlane.upstream import UPSTREAM

from tritonwin.errors import UserError
from tritonwin.facts import torch_triton
from tritonwin.journal import Store
from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.engine import Flavour
from tritonwin.patch.plan import examine, read_triton
from tritonwin.patch.rules import BY_ID, RULES
from tritonwin.patch.session import PatchSession

FORKS = (
    "windows:3.1.0.post17", "windows:3.2.0.post21", "windows:3.3.1.post21", "windows:3.4.0.post21",
    "windows:3.5.1.post24", "windows:3.6.0.post26", "windows:3.7.1.post27", "windows:3.8.0.post29",
)  # fmt: skip


def expected(version: str) -> list[str]:
    """The rules that the table says this release needs."""
    base = version.rpartition(":")[2].partition(".post")[0]
    return [
        rule.id
        for rule in RULES
        if any(a <= base <= b for a, b in (rule.fork if version in FORKS else rule.upstream))
    ]


def session_of(package: Path, tmp_path: Path) -> PatchSession:
    """A package, patched from here."""
    store = Store(tmp_path / "data" / "journal")
    return PatchSession(package=package, owner=str(package), store=store)


def test_every_rule_is_needed_somewhere() -> None:
    assert {name for version in (*UPSTREAM, *FORKS) for name in expected(version)} == set(BY_ID)


@pytest.mark.parametrize("version", [*UPSTREAM, *FORKS])
def test_apply_and_revert(version: str, tmp_path: Path) -> None:
    package = make_tree(version, tmp_path / "site")
    before = describe_tree(tmp_path / "site")
    session = session_of(package, tmp_path)
    found = torch_triton.read_triton(target(tmp_path / "site"), ())
    assert found
    assert found.defects == tuple(expected(version))

    plan = session.plan()
    assert sorted(rule for edit in plan.edits for rule in edit.rules) == sorted(expected(version))
    assert plan.refused == ()
    assert all(edit.known for edit in plan.edits)
    assert session.apply().status == "applied"

    report = examine(read_triton(package))
    assert [rule.id for rule in report.of("applied")] == expected(version)
    assert report.of("needed", "unknown") == ()
    for path in package.rglob("*.py"):
        ast.parse(path.read_bytes())
    again = session.plan()
    assert (again.edits, again.refused) == ((), ())

    assert session.revert().status == "reverted"
    assert describe_tree(tmp_path / "site") == before


@pytest.mark.parametrize("version", [UPSTREAM[0], "3.6.0", UPSTREAM[-1]])
def test_no_rule_needs_another(version: str) -> None:
    """Each alone, and all in the opposite order, come to the same."""
    folder = sources(version)
    for file in {rule.file for rule in RULES}:
        if not (folder / file).exists():
            continue
        text = (folder / file).read_text("utf-8")
        rules = [rule for rule in RULES if rule.file == file]
        forth = engine.transform(file, text, rules, "upstream")
        back = engine.transform(file, text, rules[::-1], "upstream")
        assert set(back.applied) == set(forth.applied)
        alone = [r.id for r in rules if engine.judge(r, Source(text), "upstream").text]
        assert alone == list(forth.applied)


@pytest.mark.parametrize("flavour", ["upstream", "fork"])
def test_status_does_not_depend_on_the_version_string(flavour: Flavour, tmp_path: Path) -> None:
    version = {"upstream": "3.8.0", "fork": "windows:3.8.0.post29"}[flavour]
    package = make_tree(version, tmp_path)
    before = examine(read_triton(package))
    (package / "__init__.py").write_text("__version__ = '1.0'\n")
    after = examine(read_triton(package))
    assert (after.version, after.rules) == ("1.0", before.rules)
    assert {rule.state for rule in after.rules} & {"fixed-upstream", "fixed-by-fork"} == {
        {"upstream": "fixed-upstream", "fork": "fixed-by-fork"}[flavour]
    }


# -- C, as a compiler for Windows sees it


def compiler_messages(source: Path, include: Path) -> str:
    tree, python = mingw()
    done = subprocess.run(
        [tree.mingw("gcc-win32"), "-fsyntax-only", "-Werror", "-Wno-psabi",
         f"-I{python / 'Include'}", f"-I{include}", source],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


@pytest.mark.parametrize(
    "file",
    ["backends/nvidia/driver.c", pytest.param("backends/amd/driver.c", marks=pytest.mark.full)],
)
@pytest.mark.parametrize("version", UPSTREAM)
def test_c_compiles_with_mingw_without_a_warning(version: str, file: str, tmp_path: Path) -> None:
    package = make_tree(version, tmp_path / "site")
    include = (sources(version) / file).parent / "include"
    assert "dlfcn.h: No such file" in compiler_messages(package / file, include)
    session_of(package, tmp_path).apply()
    assert compiler_messages(package / file, include) == ""


# -- what is read


def test_a_folder_that_is_no_triton(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"is not the package folder of a Triton \(no runtime/build"
    ):
        read_triton(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links are of those who may make them")
def test_a_linked_file_is_the_one_of_the_package(tmp_path: Path) -> None:
    package, elsewhere = tmp_path / "triton", tmp_path / "build.py"
    (package / "runtime").mkdir(parents=True)
    elsewhere.write_text("x = 1\n")
    (package / "runtime" / "build.py").symlink_to(elsewhere)
    found = read_triton(package).files["runtime/build.py"]
    assert (found.path, found.data) == (package / "runtime" / "build.py", b"x = 1\n")
