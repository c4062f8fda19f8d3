"""The patch on disk: whatever happens, a file is as it was, as patched, or restored."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from killing import CAN_FORK, killed_at
from pace import PATIENCE
from trees import describe_tree, plant
from triton_trees import make_tree

from tritonwin.errors import UserError
from tritonwin.journal import JournalError, Store, undo
from tritonwin.patch import session
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.plan import examine, read_triton
from tritonwin.patch.session import PatchSession

VERSION = "3.6.0"
DRIVER = "backends/nvidia/driver.py"
KNOBS = "knobs.py"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PatchSession:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    # a blank and letters that no code page of a Western Windows has
    package = make_tree(VERSION, tmp_path / "My 用户 site")
    return PatchSession(
        package=package, owner=str(package), store=Store(tmp_path / "data" / "journal")
    )


def patch(place: PatchSession, *only: str) -> str:
    done = place.apply(RuleChoice(only))
    assert (done.status, done.refused) == ("applied", ())
    assert done.journal
    return done.journal


def needed(place: PatchSession) -> list[str]:
    return [rule.id for rule in examine(read_triton(place.package)).of("needed")]


def state(place: PatchSession) -> list[str]:
    return describe_tree(place.package.parent)


# -- the style of a file


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "byte order mark"])
def test_line_ends_of_windows_stay(place: PatchSession, mark: bytes) -> None:
    for name in (DRIVER, "backends/nvidia/driver.c"):
        path = place.package / name
        path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    before = state(place)
    assert patch(place)
    for name in (DRIVER, "backends/nvidia/driver.c"):
        data = (place.package / name).read_bytes()
        assert data.count(b"\r\n") == data.count(b"\n") > 0
        assert data.startswith(mark)
        assert not data.startswith(mark * 2) or not mark
    assert needed(place) == []
    place.revert()
    assert state(place) == before


@pytest.mark.parametrize(
    "damage", [lambda data: data.replace(b"\n", b"\r\n", 5), lambda data: data + b"# \xff\n"]
)
def test_a_file_that_is_no_plain_text_is_refused(place: PatchSession, damage: object) -> None:
    path = place.package / DRIVER
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    plan = place.plan(RuleChoice(allow_unknown=True))
    (refusal,) = plan.refused
    assert refusal.file == DRIVER
    assert all(
        "not UTF-8, or with mixed line ends" in reason for reason in refusal.misfits.values()
    )


def applied(text: str, diff: str) -> str:
    """A text after a unified diff, checked line by line."""
    old, new, position = text.splitlines(), [], 0
    for line in diff.splitlines()[2:]:
        if line.startswith("@@"):
            start = int(line.split(",")[0].removeprefix("@@ -")) - 1
            new += old[position:start]
            position = start
        elif line.startswith("+"):
            new.append(line[1:])
        else:
            assert old[position] == line[1:]
            new += [old[position]] if line.startswith(" ") else []
            position += 1
    return "\n".join([*new, *old[position:]])


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_diff_makes_the_one_text_of_the_other(place: PatchSession, end: str) -> None:
    extern = place.package / "tools/build_extern.py"
    extern.write_text(extern.read_text("utf-8").rstrip("\n") + end, "utf-8")
    edits = place.plan(RuleChoice(allow_unknown=True)).edits
    assert len(edits) > 5
    for edit in edits:
        shown, text = edit.diff(), edit.before.decode()
        assert shown.splitlines()[:2] == [f"--- a/{edit.file}", f"+++ b/{edit.file}"]
        assert applied(text, shown) == "\n".join(edit.after.decode().splitlines())
        assert len(shown) < len(text) + len(edit.after.decode())


# -- whose content it is


def test_unknown_content_is_refused_whole_and_shown_from_three_sides(place: PatchSession) -> None:
    path = place.package / KNOBS
    path.write_text(path.read_text() + "# mine\n")
    plan = place.plan()
    (refusal,) = plan.refused
    assert (refusal.file, refusal.fits, refusal.left) == (KNOBS, ("tool-variables",), None)
    assert "no known release" in refusal.released
    assert refusal.found == read_triton(place.package).files[KNOBS].sha256


def test_what_fits_is_applied_to_unknown_content_on_demand(place: PatchSession) -> None:
    path = place.package / DRIVER
    text = path.read_text().replace("libraries = ['libcuda.so.1']", "libraries = ['mine']")
    path.write_text(text)
    before = state(place)
    plan = place.plan(RuleChoice(allow_unknown=True))
    (edit,) = (edit for edit in plan.edits if edit.file == DRIVER)
    assert not edit.known
    assert "libcuda-folder" in edit.rules
    assert [*plan.skipped.items()] == [("libcuda-name", "it links something else")]
    place.carry_out(plan)
    assert "libraries = ['mine']" in path.read_text()
    place.revert()
    assert state(place) == before


def test_a_change_after_the_patch_is_not_destroyed(place: PatchSession) -> None:
    patch(place)
    path = place.package / KNOBS
    path.write_text(path.read_text() + "# mine\n")
    there = state(place)
    done = place.revert()
    (conflict,) = done.conflicts
    assert done.status == "refused"
    assert conflict.place == str(path)
    assert state(place) == there


def test_a_change_after_the_patch_stops_the_next_rule_of_that_file(place: PatchSession) -> None:
    patch(place, "libcuda-name")
    path = place.package / DRIVER
    ours = read_triton(place.package).files[DRIVER].sha256
    path.write_text(path.read_text() + "# mine\n")
    plan = place.plan()
    (refusal,) = plan.refused
    assert "after tritonwin patched it" in refusal.reason
    assert refusal.left == ours


def test_rules_one_after_the_other_are_given_back_together(place: PatchSession) -> None:
    before = state(place)
    for rule in needed(place)[::4]:
        assert patch(place, rule)
    assert patch(place)
    assert needed(place) == []
    manifest = place.manifest()
    assert len(manifest.journals) > 3
    place.revert()
    assert state(place) == before
    assert place.manifest() is None


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_triton_that_was_patched_through_a_link_is_the_same(place: PatchSession) -> None:
    before = state(place)
    link = place.package.parents[1] / "link"
    link.symlink_to(place.package, target_is_directory=True)
    assert patch(replace(place, package=link, owner=str(link)))
    done = place.revert()
    assert (done.changed != (), state(place)) == (True, before)


def test_revert_is_the_undo_of_the_journal(place: PatchSession) -> None:
    before = state(place)
    journal = patch(place)
    assert undo(place.store, journal).state == "undone"
    assert state(place) == before
    assert place.revert().status == "nothing"


def test_a_patch_within_a_larger_change_is_left_to_undo(place: PatchSession) -> None:
    journal = patch(place)
    (place.store.folder(journal) / "plan.json").write_text('{"changes": []}')
    with pytest.raises(UserError, match="part of a larger change") as refused:
        place.revert()
    assert refused.value.help == f"Undo all of it: tritonwin undo {journal}"


# -- a reinstall


def test_a_reinstall_ends_the_patch_and_is_patched_again(
    place: PatchSession, tmp_path: Path
) -> None:
    before = state(place)
    patch(place)
    original = make_tree(VERSION, tmp_path / "wheel")
    shutil.rmtree(place.package)
    shutil.copytree(original, place.package)
    assert patch(place)
    assert needed(place) == []
    place.revert()
    assert state(place) == before
    assert place.manifest() is None


def test_nothing_is_given_back_to_another_version(place: PatchSession) -> None:
    patch(place)
    shutil.rmtree(place.package)
    make_tree("3.8.0", place.package.parent)
    there = state(place)
    assert place.revert().status == "nothing"
    assert state(place) == there


# -- the file system


def test_compiled_files_go_and_others_stay(place: PatchSession) -> None:
    cached = place.package / "backends/nvidia/__pycache__"
    names = ("driver.cpython-312", "driver.cpython-312.opt-1", "other.cpython-312")
    plant(cached, *(f"{name}.pyc" for name in names))
    patch(place)
    assert [path.name for path in cached.iterdir()] == ["other.cpython-312.pyc"]


def test_what_was_compiled_from_any_patched_file_goes_with_the_patch(place: PatchSession) -> None:
    files = {"dlfcn": "backends/nvidia/driver.c", "temp-files": "backends/nvidia/compiler.py"}
    for rule in ("tool-variables", *files):
        patch(place, rule)
    plant(place.package / "__pycache__", "knobs.cpython-312.pyc")
    plant(place.package / "backends/nvidia/__pycache__", "compiler.cpython-312.pyc")
    assert set(place.revert().changed) == {KNOBS, *files.values()}
    assert not list(place.package.rglob("*.pyc"))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_changes_nothing(place: PatchSession) -> None:
    folder = place.package / "tools"  # the last file of all
    before = state(place)
    folder.chmod(0o555)
    try:
        with pytest.raises(JournalError, match="cannot change"):
            patch(place)
    finally:
        folder.chmod(0o755)
    assert state(place) == before


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights there")
def test_a_link_into_a_package_cache_is_replaced(place: PatchSession, tmp_path: Path) -> None:
    cached = (place.package / DRIVER).rename(tmp_path / "uv-cache.py")
    (place.package / DRIVER).symlink_to(cached)
    content = cached.read_bytes()
    patch(place)
    assert not (place.package / DRIVER).is_symlink()
    assert (place.package / DRIVER).read_bytes() != content
    place.revert()
    assert (place.package / DRIVER).readlink() == cached
    assert cached.read_bytes() == content


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights there")
def test_a_build_in_place_links_its_backends(place: PatchSession, tmp_path: Path) -> None:
    folder = place.package / "backends/nvidia"
    there = tmp_path / "third_party"
    folder.rename(there)
    folder.symlink_to(there, target_is_directory=True)
    content = (there / "driver.c").read_bytes()
    patch(place)
    assert folder.is_symlink()
    assert (there / "driver.c").read_bytes() != content
    place.revert()
    assert (there / "driver.c").read_bytes() == content


@pytest.mark.parametrize(
    "meanwhile",
    [lambda path: path.write_text("# somebody else\n"), lambda path: path.unlink()],
    ids=["changed", "deleted"],
)
def test_a_file_that_changes_meanwhile_stops_everything(
    place: PatchSession, meanwhile: Callable[[Path], object]
) -> None:
    plan = place.plan()
    path = place.package / "tools/build_extern.py"
    meanwhile(path)
    before = state(place)
    with pytest.raises(JournalError, match=re.escape(f"{path} was changed while")) as refused:
        place.carry_out(plan)
    assert refused.value.help == "Try again when nothing else is at work on this Triton."
    assert state(place) == before
    assert place.manifest() is None


@pytest.mark.parametrize("act", ["apply", "revert"])
def test_nobody_else_may_be_at_work_on_it_by_either_name(
    place: PatchSession, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr(session, "_WAIT", 0.01)
    python = str(place.store.root / "python.exe")
    of_python = replace(place, owner=python)
    plan = place.plan(RuleChoice(["dlfcn"]))
    before = state(place)
    for name in (python, str(place.package)):
        with place.store.lock(name), pytest.raises(UserError, match="at work"):
            of_python.carry_out(plan) if act == "apply" else of_python.revert()
        with place.store.lock(python), place.store.lock(str(place.package)):
            pass
    assert state(place) == before


# -- two at a time, and an end at any moment


def test_of_two_at_once_one_patches(place: PatchSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """One names the folder, the other the Python: they are kept apart all the same."""
    monkeypatch.setattr(session, "_WAIT", PATIENCE)
    before, plan = state(place), place.plan()
    both = (place, replace(place, owner=str(place.store.root / "python.exe")))
    with ThreadPoolExecutor() as pool:
        errors = [done.exception() for done in [pool.submit(p.carry_out, plan) for p in both]]
    (failed,) = filter(None, errors)
    assert "was changed while it was being patched" in str(failed)
    assert needed(place) == []
    place.revert()
    assert state(place) == before


# one rule in each of three files, since every point is a process
SOME = ("tool-variables", "temp-files", "dlfcn")


@pytest.mark.skipif(not CAN_FORK, reason="the lane kills processes inside Windows")
@pytest.mark.parametrize(
    ("rules", "stride"), [(SOME, 2), pytest.param((), 1, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("act", ["apply", "revert"])
def test_killed_at_any_point(
    place: PatchSession, rules: tuple[str, ...], stride: int, act: str
) -> None:
    before, plan = state(place), place.plan(RuleChoice(rules))

    def begin() -> None:
        if act == "revert":
            place.carry_out(plan)

    begin()
    point = 1
    while killed_at(point, place.revert if act == "revert" else lambda: place.carry_out(plan)):
        place.revert()
        assert state(place) == before, point
        begin()
        point += stride
    assert point >= (2 if act == "revert" else 8) * len(plan.edits)
    if act == "revert":
        assert state(place) == before
    else:
        assert not {rule for edit in plan.edits for rule in edit.rules} & set(needed(place))
