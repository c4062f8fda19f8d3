"""The files that an install removes and places: its own, and none of others unsaid."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from commands import Said, Shop
from trees import describe_tree, write
from wheel_files import make_wheel

from tritonwin.output import changes
from tritonwin.remedies.installed import removal
from tritonwin.remedies.plan import CannotRemedyError

SAGE = "sageattention-2.0-py3-none-any.whl"
OLD = "sageattention-1.0-py3-none-any.whl"


@pytest.fixture(autouse=True)
def offered(tmp_path: Path) -> None:
    make_wheel(tmp_path / "w", SAGE)


def install(shop: Shop, *args: str, status: int = 0) -> Said:
    return shop.install("sageattention", "--reinstall", *args, status=status)


def more(wheel: Path, members: dict[str, str]) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        for name, text in members.items():
            file.writestr(name, text)


def test_files_that_no_record_lists_stay_where_they_are(shop: Shop) -> None:
    shop.target.install(OLD)
    site = shop.target.site_packages
    names = ("__pycache__/notes.txt", "mine.py", "models/weights.bin")
    mine = {f"sageattention/{name}": "mine" for name in names}
    write(site, {**mine, "sageattention/__pycache__/__init__.cpython-312.pyc": "compiled"})
    before = describe_tree(site)
    done = install(shop, "--dry-run", "--json")
    (change,) = done.document["plan"]["changes"]
    assert change["stays"] == [str(site / name) for name in mine]
    done = install(shop, "--yes")
    assert f"{site / 'sageattention' / 'mine.py'}" in done.out
    assert {name: (site / name).read_text() for name in mine} == mine
    assert "2.0" in (site / "sageattention/__init__.py").read_text()
    assert not (site / "sageattention/__pycache__").exists() or not list(
        site.glob("sageattention/__pycache__/*312.pyc")
    )
    done = shop.call("undo", "--yes")
    assert (done.status, "Everything is as it was before." in done.out) == (0, True)
    left = [line for line in describe_tree(site) if "__pycache__" not in line]
    assert left == [line for line in before if "__pycache__" not in line]


def test_forgetting_an_undo_destroys_nothing(shop: Shop, tmp_path: Path) -> None:
    """An edit of a package's file, a file that the new version replaces, a folder of no package."""
    shop.target.install(OLD)
    shop.target.install("helper-1.0-py3-none-any.whl")
    site = shop.target.site_packages
    (site / "sageattention/__init__.py").write_text("my edit")
    write(site, {"sageattention/new.py": "mine", "leftover/a.py": "mine too"})
    more(shop.wheels / SAGE, {"sageattention/new.py": "theirs", "leftover/b.py": ""})
    done = install(shop, "--yes")
    shown = done.out
    assert f"moving {site / 'leftover'} aside" in shown
    assert f"{site / 'sageattention' / 'new.py'}" in shown
    done = shop.call("undo", "--forget", "--yes")
    assert done.status == 0
    assert f"{tmp_path / 'home/kept'}" in done.out
    kept = {p.read_bytes() for p in (tmp_path / "home/kept").rglob("*") if p.is_file()}
    assert {b"my edit", b"mine", b"mine too"} <= kept
    done = shop.call("undo", "--list")
    assert (done.status, "changed nothing" in done.out) == (0, True)


PYTHONS = [
    "x.data/data/bin/python", "x.data/data/pyvenv.cfg", "x.data/scripts/python3",
    "x.data/data/Scripts/python.exe", "x.data/data/python312._pth", "../pyvenv.cfg",
    "x.data/data/lib/{python}/os.py", "x.data/data/pip.conf",
    "sageattention-2.0.dist-info/entry_points.txt",  # a launcher named like Python
]  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="bin is Scripts there; the lane has its own")
@pytest.mark.parametrize("member", PYTHONS)
def test_a_wheel_that_would_replace_a_file_of_python_is_refused(shop: Shop, member: str) -> None:
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    name = member.format(python=python).replace("x.data", "sageattention-2.0.data")
    more(shop.wheels / SAGE, {name: "[console_scripts]\npython = sageattention:main\n"})
    before = describe_tree(shop.target.python.parents[1])
    said = install(shop, "--yes", status=2).err
    assert re.search("no place for a file of a package|pip could not lay out", said)
    assert Path(member).name in said or member.endswith("entry_points.txt")
    assert describe_tree(shop.target.python.parents[1]) == before


@pytest.mark.parametrize("name", ["DLLs/_ctypes.pyd", "vcruntime140.dll"])
def test_a_library_beside_python_that_no_package_brought_stays(shop: Shop, name: str) -> None:
    more(shop.wheels / SAGE, {f"sageattention-2.0.data/data/{name}": "evil"})
    write(shop.target.python.parents[1], {name: "Python's"})
    done = install(shop, "--yes", status=2)
    assert "no place for a file of a package" in done.err
    assert (shop.target.python.parents[1] / name).read_text() == "Python's"


def test_a_record_that_names_a_share_asks_no_other_machine(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(shop, "--yes")
    record = shop.target.site_packages / "sageattention-2.0.dist-info/RECORD"
    record.write_text(record.read_text() + "//host/share/x.py,,\n")
    asked: list[str] = []

    def told(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda path, **more: asked.append(os.fspath(path)) or ask(path, **more)

    for module, name in ((os.path, "realpath"), (os, "lstat")):
        monkeypatch.setattr(module, name, told(getattr(module, name)))
    target = replace(healthy.TARGET, prefix=str(shop.target.python.parents[1]))
    with pytest.raises(CannotRemedyError, match="no file of a package"):
        removal([str(record.parent)], target)
    assert asked
    assert not any(str(path).startswith("//") for path in asked)


def test_a_file_of_another_package_is_not_replaced(shop: Shop) -> None:
    """A file that two packages hold alike, as the nvidia ones do, is nobody's loss."""
    shop.target.install("helper-1.0-py3-none-any.whl")
    site = shop.target.site_packages
    before = shop.target.files()
    theirs = (site / "helper/__init__.py").read_text()
    more(shop.wheels / SAGE, {"helper/__init__.py": "ours"})
    done = install(shop, "--yes", status=2)
    assert f"{site / 'helper/__init__.py'} of helper would be replaced" in done.err
    assert shop.target.files() == before
    make_wheel(shop.wheels, SAGE)
    more(shop.wheels / SAGE, {"helper/__init__.py": theirs})
    install(shop, "--yes")
    assert (site / "helper/__init__.py").read_text() == theirs


def test_a_record_that_names_files_of_others_takes_nothing_along(shop: Shop) -> None:
    shop.target.install(OLD)
    shop.target.install("helper-1.0-py3-none-any.whl")
    before = shop.target.files()
    record = shop.target.site_packages / "sageattention-1.0.dist-info/RECORD"
    for name in (
        "helper/__init__.py",
        "./helper/__init__.py",
        "sageattention/../helper/__init__.py",
    ):
        with record.open("a") as file:
            file.write(f"{name},,\n")
    install(shop, "--yes")
    now = shop.target.files()
    theirs = {name: data for name, data in before.items() if name.startswith("helper")}
    assert {name: now.get(name) for name in theirs} == theirs


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_a_link_that_takes_a_folders_place_between_plan_and_apply_stops_it(
    shop: Shop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop.target.install(OLD)
    package = shop.target.site_packages / "sageattention"
    theirs = write(tmp_path / "theirs", {"__init__.py": "mine", "notes.txt": "mine"})
    trees: list[list[str]] = []

    def swapped(_: str) -> bool:
        package.rename(tmp_path / "aside")
        package.symlink_to(theirs, target_is_directory=True)
        trees.append(describe_tree(shop.target.site_packages) + describe_tree(theirs))
        return True

    monkeypatch.setattr(changes, "agreed", swapped)
    done = install(shop, status=2)
    assert "which is no file of a package" in done.err
    assert [describe_tree(shop.target.site_packages) + describe_tree(theirs)] == trees
