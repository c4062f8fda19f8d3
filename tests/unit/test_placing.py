"""The files that an install removes and places: its own, and none of others unsaid."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from target_env import TargetEnvironment
from trees import describe_tree, write
from wheel_files import make_wheel

from tritonwin.cli.app import run
from tritonwin.output import terminal
from tritonwin.remedies.installed import removal
from tritonwin.remedies.plan import CannotRemedyError

SAGE = "sageattention-2.0-py3-none-any.whl"
OLD = "sageattention-1.0-py3-none-any.whl"


@pytest.fixture
def target(target_with_pip: TargetEnvironment) -> TargetEnvironment:
    return target_with_pip


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    make_wheel(tmp_path / "w", SAGE)
    return tmp_path / "w"


def install(target: TargetEnvironment, wheels: Path, *args: str) -> int:
    place = ("--find-links", str(wheels), "--offline", "--python", str(target.python))
    return run(["install", "sageattention", "--reinstall", *place, *args])


def more(wheel: Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        for name, text in members.items():
            file.writestr(name, text)


def test_files_that_no_record_lists_stay_where_they_are(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target.install(OLD)
    site = target.site_packages
    names = ("__pycache__/notes.txt", "mine.py", "models/weights.bin")
    mine = {f"sageattention/{name}": "mine" for name in names}
    write(site, {**mine, "sageattention/__pycache__/__init__.cpython-312.pyc": "compiled"})
    before = describe_tree(site)
    assert install(target, wheels, "--dry-run", "--json") == 0
    (change,) = json.loads(capsys.readouterr().out)["plan"]["changes"]
    assert change["stays"] == [str(site / name) for name in mine]
    assert install(target, wheels, "--yes") == 0
    assert f"{site / 'sageattention' / 'mine.py'}" in capsys.readouterr().out
    assert {name: (site / name).read_text() for name in mine} == mine
    assert "2.0" in (site / "sageattention/__init__.py").read_text()
    assert not (site / "sageattention/__pycache__").exists() or not list(
        site.glob("sageattention/__pycache__/*312.pyc")
    )
    assert run(["undo", "--yes"]) == 0
    assert "Everything is as it was before." in capsys.readouterr().out
    left = [line for line in describe_tree(site) if "__pycache__" not in line]
    assert left == [line for line in before if "__pycache__" not in line]


def test_forgetting_an_undo_destroys_nothing_that_cannot_be_had_again(
    target: TargetEnvironment, wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An edit of a package's file, a file that the new version replaces, a folder of no package."""
    target.install(OLD)
    target.install("helper-1.0-py3-none-any.whl")
    site = target.site_packages
    (site / "sageattention/__init__.py").write_text("my edit")
    write(site, {"sageattention/new.py": "mine", "leftover/a.py": "mine too"})
    more(wheels / SAGE, {"sageattention/new.py": "theirs", "leftover/b.py": ""})
    assert install(target, wheels, "--yes") == 0
    shown = capsys.readouterr().out
    assert f"{site / 'leftover'} (of no package)" in shown
    assert f"{site / 'sageattention' / 'new.py'}" in shown
    assert run(["undo", "--forget", "--yes"]) == 0
    assert f"  {site / 'leftover' / 'a.py'}" in capsys.readouterr().out
    kept = [p for p in (tmp_path / "home/kept").rglob("*") if p.is_file()]
    assert {p.read_text() for p in kept} == {"my edit", "mine", "mine too"}
    assert run(["undo", "--list"]) == 0
    assert "changed nothing" in capsys.readouterr().out


PYTHONS = [
    "x.data/data/bin/python", "x.data/data/pyvenv.cfg", "x.data/scripts/python3",
    "x.data/data/Scripts/python.exe", "x.data/data/python312._pth", "../pyvenv.cfg",
    "x.data/data/lib/{python}/os.py", "x.data/data/pip.conf",
]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="bin is Scripts there; the lane has its own")
@pytest.mark.parametrize("member", PYTHONS)
def test_a_wheel_that_would_replace_a_file_of_python_is_refused_in_the_plan(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str], member: str
) -> None:
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    more(
        wheels / SAGE,
        {member.format(python=python).replace("x.data", "sageattention-2.0.data"): ""},
    )
    before = describe_tree(target.python.parents[1])
    for words in (["--dry-run"], ["--yes"]):
        assert install(target, wheels, *words) == 2
        said = capsys.readouterr().err
        assert Path(member).name in said
        assert "no place for a file of a package" in said
    assert describe_tree(target.python.parents[1]) == before


@pytest.mark.parametrize("name", ["DLLs/_ctypes.pyd", "vcruntime140.dll"])
def test_a_library_beside_python_that_no_package_brought_stays(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    more(wheels / SAGE, {f"sageattention-2.0.data/data/{name}": "evil"})
    write(target.python.parents[1], {name: "Python's"})
    assert install(target, wheels, "--yes") == 2
    assert "no place for a file of a package" in capsys.readouterr().err
    assert (target.python.parents[1] / name).read_text() == "Python's"


def test_a_record_that_names_a_share_asks_no_other_machine(
    target: TargetEnvironment, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert install(target, wheels, "--yes") == 0
    record = target.site_packages / "sageattention-2.0.dist-info/RECORD"
    record.write_text(record.read_text() + "//host/share/x.py,,\n")
    asked: list[str] = []

    def told(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda path, **more: asked.append(os.fspath(path)) or ask(path, **more)

    for module, name in ((os.path, "realpath"), (os, "lstat")):
        monkeypatch.setattr(module, name, told(getattr(module, name)))
    with pytest.raises(CannotRemedyError, match="no file of a package"):
        removal([record.parent], target.python.parents[1])
    assert asked
    assert not any(str(path).startswith("//") for path in asked)


def test_a_launcher_named_like_python_is_refused(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = "[console_scripts]\npython = sageattention:main\n"
    more(wheels / SAGE, {"sageattention-2.0.dist-info/entry_points.txt": points})
    assert install(target, wheels, "--dry-run") == 2
    assert "no place for a file of a package" in capsys.readouterr().err


def test_a_file_of_another_package_is_replaced_only_where_the_plan_says_so(
    target: TargetEnvironment, wheels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that two packages hold alike, as the nvidia ones do, is nobody's loss."""
    target.install("helper-1.0-py3-none-any.whl")
    site = target.site_packages
    theirs = (site / "helper/__init__.py").read_text()
    before = target.files()
    more(wheels / SAGE, {"helper/__init__.py": "ours"})
    assert install(target, wheels, "--dry-run", "--json") == 0
    (change,) = json.loads(capsys.readouterr().out)["plan"]["changes"]
    place = str(site / "helper/__init__.py")
    assert change["replaces"] == [{"path": place, "owner": "helper"}]
    assert install(target, wheels, "--yes") == 0
    assert f"{place} (of helper)" in capsys.readouterr().out
    assert (site / "helper/__init__.py").read_text() == "ours"
    assert run(["undo", "--yes"]) == 0
    assert target.files() == before
    make_wheel(wheels, SAGE)
    more(wheels / SAGE, {"helper/__init__.py": theirs})
    capsys.readouterr()
    assert install(target, wheels, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["plan"]["changes"][0]["replaces"] == []


def test_a_record_that_names_files_of_others_takes_nothing_along(
    target: TargetEnvironment, wheels: Path
) -> None:
    target.install(OLD)
    target.install("helper-1.0-py3-none-any.whl")
    before = target.files()
    record = target.site_packages / "sageattention-1.0.dist-info/RECORD"
    for name in (
        "helper/__init__.py",
        "./helper/__init__.py",
        "sageattention/../helper/__init__.py",
    ):
        with record.open("a") as file:
            file.write(f"{name},,\n")
    assert install(target, wheels, "--yes") == 0
    now = target.files()
    theirs = {name: data for name, data in before.items() if name.startswith("helper")}
    assert {name: now.get(name) for name in theirs} == theirs


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_that_takes_a_folders_place_between_plan_and_apply_stops_it(
    target: TargetEnvironment,
    wheels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target.install(OLD)
    package = target.site_packages / "sageattention"
    theirs = write(tmp_path / "theirs", {"__init__.py": "mine", "notes.txt": "mine"})
    trees: list[list[str]] = []

    def swapped(_: str) -> bool:
        package.rename(tmp_path / "aside")
        package.symlink_to(theirs, target_is_directory=True)
        trees.append(describe_tree(target.site_packages) + describe_tree(theirs))
        return True

    monkeypatch.setattr(terminal, "agreed", swapped)
    assert install(target, wheels) == 2
    assert "which is no file of a package" in capsys.readouterr().err
    assert [describe_tree(target.site_packages) + describe_tree(theirs)] == trees
