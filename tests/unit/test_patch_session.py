"""Patch by way of a Python: hook or files, never both, and the caches that go with them."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from environments import make_venv
from hosts import fake_host
from installed import target
from trees import describe_tree, plant, write
from triton_trees import make_tree

from tritonwin.errors import UserError
from tritonwin.facts.interpreters import TargetChoice
from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.journal import Journal, Store, undo
from tritonwin.journal.disk import JournalError
from tritonwin.patch import session as of_python
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.records import PatchOutcome, PatchStatus
from tritonwin.patch.session import PatchSession, helper_entries, of_folder

SUFFIX = ".cpython-312-x86_64-linux-gnu.so"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PatchSession:
    """A Python with upstream's 3.7 and compiled helper modules, one of them another Python's."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    package = make_tree("3.7.1", tmp_path / "site")
    cache = tmp_path / "cache"
    others = "BBB/cuda_utils.cpython-310-x86_64-linux-gnu.so"
    plant(cache, f"AAA/cuda_utils{SUFFIX}", others, "CCC/add.cubin")
    python = target(tmp_path / "site", ext_suffix=SUFFIX, executable=str(tmp_path / "python"))
    host = fake_host(tmp_path, {"TRITON_CACHE_DIR": str(cache)}, windows=False)
    return PatchSession(
        package=package,
        owner=python.executable,
        store=Store(tmp_path / "data" / "journal"),
        target=python,
        helpers=lambda: helper_entries(python, host),
    )


def entries(session: PatchSession) -> list[str]:
    return sorted(path.name for path in cache_of(session).iterdir())


def cache_of(session: PatchSession) -> Path:
    return session.package.parents[1] / "cache"


def test_helper_modules_go_with_the_patch_and_with_its_end(session: PatchSession) -> None:
    """Those of the unpatched Triton, and those of the patched one."""
    session.apply()
    assert entries(session) == ["BBB", "CCC"]
    clear = session.store.journals()[0]
    assert clear.title == "clear 1 compiled helper modules of Triton"
    session.revert()
    undo(session.store, clear.id)
    assert entries(session) == ["AAA", "BBB", "CCC"]
    session.apply()
    plant(cache_of(session), f"DDD/cuda_utils{SUFFIX}")
    session.revert()
    assert entries(session) == ["BBB", "CCC"]


@pytest.mark.parametrize("import_time", [False, True])
def test_each_command_tells_what_it_did(session: PatchSession, import_time: bool) -> None:
    """Its status, the files it names and the journal to undo it by; when it takes effect."""
    edited = [edit.file for edit in session.plan().edits]
    written = [str(session.package.parent / name) for name in (HOOK, HOOK_START)]
    done = written if import_time else edited
    steps: list[tuple[Callable[[], PatchOutcome], PatchStatus, list[str]]] = [
        (session.status, "examined", []),
        (partial(session.diff, import_time=import_time), "planned", edited),
        (partial(session.apply, import_time=import_time), "applied", done),
        (session.status, "examined", []),
        (session.revert, "reverted", done),
        (session.revert, "nothing", []),
    ]
    for act, status, changed in steps:
        outcome, writes = act(), status in {"applied", "reverted"}
        assert (outcome.status, [*outcome.changed]) == (status, changed)
        assert (outcome.journal is not None, bool(outcome.diff)) == (writes, status == "planned")
        assert ["running" in note for note in outcome.notes] == [True] * writes


def test_files_or_a_hook_but_never_both(session: PatchSession) -> None:
    before = describe_tree(session.package.parent)
    applied = session.apply(import_time=True)
    assert applied.hook is not None
    assert not applied.blocked
    assert len(applied.changed) == 2
    with pytest.raises(UserError, match="an import hook patches this Triton already"):
        session.apply()
    assert session.revert().hook is None
    assert describe_tree(session.package.parent) == before

    session.apply()
    with pytest.raises(UserError, match="are patched already") as refused:
        session.apply(import_time=True)
    assert refused.value.help.endswith("tritonwin patch revert")
    session.revert()
    assert describe_tree(session.package.parent) == before


@pytest.mark.parametrize("damage", [lambda data: data, lambda data: data[: len(data) // 2]])
def test_a_hook_from_elsewhere_or_one_that_was_cut_short_is_taken_out(
    session: PatchSession, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    """A portable Python that was hooked on another machine. What was there can be brought back."""
    before = describe_tree(session.package.parent)
    session.apply(import_time=True)
    hook = session.package.parent / HOOK
    hook.write_bytes(damage(hook.read_bytes()))
    there = describe_tree(session.package.parent)
    elsewhere = replace(session, store=Store(tmp_path / "other"))
    reverted = elsewhere.revert()
    assert (reverted.status, reverted.hook) == ("reverted", None)
    assert describe_tree(session.package.parent) == before
    assert reverted.journal
    undo(elsewhere.store, reverted.journal)
    assert describe_tree(session.package.parent) == there


def test_a_hook_that_was_cut_short_is_seen_and_replaced(session: PatchSession) -> None:
    session.apply(import_time=True)
    hook = session.package.parent / HOOK
    whole = hook.read_bytes()
    hook.write_bytes(whole[: len(whole) // 2])
    status = session.status()
    assert status.hook
    assert (status.hook.damaged, status.hooked, status.blocked) == (True, False, True)
    with pytest.raises(UserError, match="an import hook lies damaged in"):
        session.apply()
    assert session.apply(import_time=True).hooked
    assert hook.read_bytes() == whole


def test_a_hook_that_nothing_starts_patches_nothing(session: PatchSession) -> None:
    session.apply(import_time=True)
    (session.package.parent / HOOK_START).unlink()
    status = session.status()
    assert (status.hook is not None, status.hooked, status.blocked) == (True, False, True)


def test_edits_from_elsewhere_are_named(session: PatchSession, tmp_path: Path) -> None:
    """A portable installation that was patched on another machine."""
    session.apply()
    moved = replace(session, store=Store(tmp_path / "other machine"))
    done = moved.revert()
    assert done.status == "nothing"
    assert "install this Triton again" in done.notes[0]


def test_a_diff_of_a_hook_says_what_stands_against_it(session: PatchSession) -> None:
    before = describe_tree(session.package.parent)
    shown = session.diff(import_time=True)
    assert (shown.status, shown.hook) == ("planned", None)
    assert shown.diff
    folder = replace(session, target=None)
    for act in (folder.diff, folder.apply):
        with pytest.raises(UserError, match="--triton names only a folder"):
            act(import_time=True)
    assert describe_tree(session.package.parent) == before
    assert folder.diff().status == "planned"


def test_a_second_hook_takes_the_place_of_the_first(session: PatchSession) -> None:
    session.apply(import_time=True)
    again = session.apply(RuleChoice(["dlfcn"]), import_time=True)
    assert again.hook.choice.only == ("dlfcn",)
    before = [j.state for j in session.store.journals()]
    assert session.revert().status == "reverted"
    assert len(before) == 2
    assert {j.state for j in session.store.journals()} == {"undone"}


def test_taking_the_hook_out_undoes_nothing_else(session: PatchSession) -> None:
    """Not what patch cleared, nor another change of this Python."""
    session.apply(RuleChoice(["dlfcn"]))
    session.revert()
    store = session.store
    with Journal.begin(store, target=session.owner, title="other") as journal:
        journal.write(session.package / "kept.txt", b"kept")
    session.apply(import_time=True)
    assert session.revert().status == "reverted"
    assert [(j.title.partition(" ")[0], j.state) for j in store.journals()] == [
        ("clear", "applied"),
        ("patch", "undone"),
        ("other", "applied"),
        ("patch", "undone"),
    ]
    assert (session.package / "kept.txt").read_bytes() == b"kept"


def test_a_hook_that_was_changed_since_is_not_thrown_away(session: PatchSession) -> None:
    session.apply(import_time=True)
    hook = session.package.parent / HOOK
    hook.write_bytes(hook.read_bytes() + b"# mine\n")
    with pytest.raises(UserError, match="was changed since") as refused:
        session.revert()
    assert "--force" in refused.value.help
    assert hook.read_bytes().endswith(b"# mine\n")


def test_another_change_that_was_cut_off_is_left_to_undo(
    session: PatchSession, tmp_path: Path
) -> None:
    """Revert finishes what patch began; what is half done of something else is not patch's."""
    (tmp_path / "kept.txt").write_text("kept")
    cut_off = Journal.begin(session.store, target=session.owner, title="other")
    cut_off.delete(tmp_path / "kept.txt")
    with pytest.raises(JournalError, match="cut off in the middle"):
        session.apply()
    assert session.revert().status == "nothing"
    (left,) = session.store.unfinished()
    assert left.title == "other"
    assert not (tmp_path / "kept.txt").exists()


def test_without_the_journal_nothing_can_be_given_back(session: PatchSession) -> None:
    applied = session.apply()
    assert applied.journal
    shutil.rmtree(session.store.root / applied.journal)
    with pytest.raises(UserError, match="is not kept any more") as refused:
        session.revert()
    assert "Install Triton again" in refused.value.help


# -- the Triton of a Python


@pytest.mark.parametrize("there", [{}, {"triton/readme.txt": ""}])
def test_a_python_without_triton_is_told_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: dict[str, str]
) -> None:
    """Nor does a folder of that name without an __init__.py count, which Python imports too."""
    write(tmp_path / "site", {"empty.txt": "", **there})
    chosen = TargetChoice(str(tmp_path / "python"), "python", "")
    monkeypatch.setattr(of_python, "find_target", lambda *_: chosen)
    monkeypatch.setattr(of_python, "examine_target", lambda *_: target(tmp_path / "site"))
    with pytest.raises(UserError, match="has no Triton") as refused:
        of_python.of_python(None, None, 30)
    # `driver` takes no folder
    assert "patch also takes the folder: --triton DIR" in refused.value.help


@pytest.mark.parametrize("by", ["python", "app"])
def test_the_triton_of_a_real_python_is_patched_and_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """With the helper modules of the cache that this Python would fill, and of no other."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    venv = make_venv(tmp_path / "app" / "venv")
    package = make_tree("3.7.1", venv.site_packages)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    plant(tmp_path / "cache", f"AAA/cuda_utils{suffix}", "BBB/cuda_utils.cpython-30.so")
    app = tmp_path / "app"
    found = of_python.of_python(
        *((str(venv.python), None) if by == "python" else (None, app)), timeout=60
    )
    assert (found.package, found.owner) == (package, str(venv.python))
    assert found.target.source == (
        "--python names it" if by == "python" else f"the Python of the application in {app}"
    )
    assert found.target.version == ".".join(map(str, sys.version_info[:3]))
    before = describe_tree(package)
    assert found.apply(RuleChoice(["dlfcn"])).status == "applied"
    assert describe_tree(package) != before
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["BBB"]
    assert found.revert().status == "reverted"
    assert describe_tree(package) == before


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a script of sh")
def test_a_python_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {"python": "#!/bin/sh\nexec sleep 60\n"})
    (tmp_path / "python").chmod(0o755)
    started = time.monotonic()
    with pytest.raises(UserError):
        of_python.of_python(str(tmp_path / "python"), None, 0.2)
    assert time.monotonic() - started < 30


# -- the folder that is named


@pytest.mark.parametrize("named", [".", "site", "site/triton"])
def test_the_folder_of_a_triton_or_the_one_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """An absolute one comes of it: a manifest is found by it from anywhere."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    package = make_tree("3.6.0", tmp_path / "site")
    monkeypatch.chdir(package if named == "." else tmp_path)
    found = of_folder(Path(named))
    assert (found.package, found.owner) == (package, str(package))
    assert found.store.root == tmp_path / "home" / "journal"


# -- what is not known


def append(session: PatchSession, file: str, data: bytes = b"# mine\n") -> None:
    path = session.package / file
    path.write_bytes(path.read_bytes() + data)


def test_a_changed_file_stops_the_rules_of_that_file_alone(session: PatchSession) -> None:
    append(session, "knobs.py")
    before = describe_tree(session.package)
    for import_time in (False, True):
        refused = session.apply(import_time=import_time)
        assert (refused.status, refused.changed, refused.journal) == ("refused", (), None)
        assert [each.file for each in refused.refused] == ["knobs.py"]
    assert describe_tree(session.package) == before
    others = session.apply(RuleChoice(["temp-files", "dlfcn"]))
    assert others.changed == ("backends/nvidia/compiler.py", "backends/nvidia/driver.c")
    trusted = session.apply(RuleChoice(["tool-variables"], allow_unknown=True))
    assert trusted.changed == ("knobs.py",)
    assert session.revert().status == "reverted"
    assert describe_tree(session.package) == before


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0" * (4 * 2**20 + 1), "larger than 4 MiB"),
        (b"\xff\xfea\0", "not UTF-8"),
        (b"a\r\nb\n", "mixed line ends"),
        (b"a\rb\n", "mixed line ends"),
    ],
)
def test_the_status_names_the_fault_of_a_source(
    session: PatchSession, data: bytes, reason: str
) -> None:
    (session.package / "knobs.py").write_bytes(data)
    rules = {rule.id: rule for rule in session.status().rules}
    assert rules["tool-variables"].state == "unknown"
    assert reason in rules["tool-variables"].reason
    assert rules["dlfcn"].state == "needed"


def test_a_source_that_is_held_by_others_is_named(
    session: PatchSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, read = session.package / "knobs.py", Path.read_bytes

    def read_unless_held(path: Path) -> bytes:
        if path == held:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_unless_held)
    for act in (session.status, session.diff, session.apply, session.revert):
        with pytest.raises(UserError, match=r"knobs\.py cannot be read: Perm") as failed:
            act()
        assert "the right to read it" in failed.value.help


def test_a_source_without_end_is_not_read(session: PatchSession) -> None:
    """A sparse file of 3 GB took 16 GB of memory."""
    driver = session.package / "backends/nvidia/driver.c"
    with driver.open("r+b") as file:
        file.truncate(3 * 2**30)
    tracemalloc.start()
    status, refused = session.status(), session.apply(RuleChoice(allow_unknown=True))
    assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    tracemalloc.stop()
    assert {r.state for r in status.rules if r.file.endswith("nvidia/driver.c")} == {"unknown"}
    (refusal,) = refused.refused
    assert (refusal.file, refusal.found) == ("backends/nvidia/driver.c", None)
    assert "larger than 4 MiB" in next(iter(refusal.misfits.values()))
