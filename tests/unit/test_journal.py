"""Journals: changes, refusals, and the words of undo where others changed things since."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from killing import FileRegistry
from trees import describe_tree, plant, tree_hash, write

from tritonwin.journal import (
    Journal,
    JournalError,
    RegistryValue,
    Store,
    TargetBusyError,
    UndoReport,
    disk,
    preview,
    undo,
)
from tritonwin.journal.log import RESERVE, Log
from tritonwin.journal.records import MakeFolder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write(
        tmp_path / "target",
        {"python.exe": "exe", "a.txt": "old", "pkg/__init__.py": "1", "pkg/_C/lib.pyd": "2"},
    )


def begin(store: Store, target: Path, title: str = "test") -> Journal:
    registry = FileRegistry(store.root.parent / "registry.json")
    return Journal.begin(store, target=str(target / "python.exe"), title=title, registry=registry)


Change = Callable[[Journal, Path], object]


def apply(store: Store, target: Path, *changes: Change) -> Journal:
    with begin(store, target) as journal:
        for change in changes:
            change(journal, target)
    return journal


def undo_last(store: Store, *, force: bool = False) -> UndoReport:
    header = store.latest()
    assert header
    registry = FileRegistry(store.root.parent / "registry.json")
    foreseen = preview(store, header.id, registry)
    report = undo(store, header.id, force=force, registry=registry)
    assert report.conflicts == foreseen.conflicts
    return report


def test_what_is_there_meanwhile(store: Store, target: Path) -> None:
    with begin(store, target) as journal:
        journal.write(target / "a.txt", b"new")
        journal.write(target / "deep/down/b.txt", b"b")
        journal.delete(target / "pkg/_C")
        journal.move(target / "pkg", target / "other/pkg")
    files = {"a.txt": "new", "deep/down/b.txt": "b", "other/pkg/__init__.py": "1"}
    wanted = write(target.with_name("wanted"), {**files, "python.exe": "exe"})
    assert describe_tree(target) == describe_tree(wanted)


def test_a_file_keeps_being_read_only(store: Store, target: Path) -> None:
    (target / "a.txt").chmod(0o444)
    before = tree_hash(target)
    with begin(store, target) as journal:
        journal.write(target / "a.txt", b"new")
    assert not (target / "a.txt").stat().st_mode & stat.S_IWUSR
    assert (target / "a.txt").read_bytes() == b"new"
    assert undo_last(store).state == "undone"
    assert tree_hash(target) == before


def test_what_is_staged_is_merged_and_goes(store: Store, target: Path) -> None:
    with begin(store, target) as journal:
        stage = plant(journal.scratch(target), "lib/pkg/new.py", "lib/pkg/_C/lib.pyd", "lib/b/c")
        journal.place(stage / "lib", target)
        kept_apart = journal.scratch(target)
        assert kept_apart.is_dir()
    assert not stage.exists()
    assert not kept_apart.exists()
    assert sorted(p.name for p in (target / "pkg").iterdir()) == ["_C", "__init__.py", "new.py"]
    assert (target / "pkg/_C/lib.pyd").read_bytes() == b"x"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there, and Wine has none")
def test_a_link_is_changed_not_followed(store: Store, target: Path, tmp_path: Path) -> None:
    plant(tmp_path / "elsewhere", "kept.txt")
    (target / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    before = tree_hash(target)
    with begin(store, target) as journal:
        journal.delete(target / "link")
    assert (tmp_path / "elsewhere/kept.txt").exists()
    assert undo_last(store).state == "undone"
    assert tree_hash(target) == before


def test_the_other_name_of_a_hard_link_is_left_alone(store: Store, target: Path) -> None:
    """uv and conda link files of an environment to their caches."""
    shared = target.parent / "cache.txt"
    shared.hardlink_to(target / "a.txt")
    with begin(store, target) as journal:
        journal.write(target / "a.txt", b"new")
    assert shared.read_bytes() == b"old"
    undo_last(store)
    assert shared.samefile(target / "a.txt")


@pytest.mark.parametrize(
    ("change", "refused", "says"),
    [
        (lambda j, t: j.delete(t / "nothing"), JournalError, "nothing does not exist"),
        (lambda j, t: j.move(t / "a.txt", t / "python.exe"), JournalError, "exists already"),
        (lambda j, t: j.write(t / "a.txt/b", b""), JournalError, "a.txt"),
        (lambda j, t: j.delete(Path("a.txt")), JournalError, "not an absolute path"),
        (lambda j, t: 1 / 0, ZeroDivisionError, ""),
    ],
)
def test_a_change_that_cannot_be_made_undoes_those_before_it(
    store: Store, target: Path, change: Change, refused: type[Exception], says: str
) -> None:
    before = tree_hash(target)
    with pytest.raises(refused, match=says or None):
        apply(store, target, lambda j, t: j.delete(t / "pkg/_C"), change)
    assert tree_hash(target) == before
    assert [h.state for h in store.journals()] == ["undone"]
    assert store.unfinished() == ()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps names as UTF-16")
def test_a_name_that_is_no_text_is_refused(store: Store, target: Path) -> None:
    name = os.fsdecode(b"\xff.txt")
    (target / name).write_bytes(b"")
    with pytest.raises(JournalError, match="cannot be written down"), begin(store, target) as j:
        j.delete(target / name)
    assert (target / name).exists()


# -- changed by others since

SINCE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a file that was written": (
        lambda t: (t / "a.txt").write_text("mine"), "a.txt", "changed since"
    ),
    "something in the place of what was deleted": (
        lambda t: plant(t, "pkg/__init__.py"), "pkg", "something else is there"
    ),
    "what was put there is gone": (lambda t: (t / "b.txt").unlink(), "b.txt", "gone"),
    "a file in the place of a folder": (
        lambda t: plant(t, "empty"), "empty", "something else is there"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SINCE)
def test_what_others_changed_is_not_touched_unasked(store: Store, target: Path, name: str) -> None:
    since, place, found = SINCE[name]
    (target / "empty").mkdir()
    before = describe_tree(target)
    with begin(store, target) as journal:
        journal.write(target / "a.txt", b"new")
        journal.write(target / "b.txt", b"new")
        journal.delete(target / "pkg")
        journal.delete(target / "empty")
    since(target)
    changed = tree_hash(target)

    report = undo_last(store)
    assert report.state == "applied"
    (conflict,) = report.conflicts
    assert conflict.place == str(target / place)
    assert conflict.found.startswith(found)
    assert tree_hash(target) == changed

    assert undo_last(store, force=True).state == "undone"
    after = [line for line in describe_tree(target) if ".kept-" not in line]
    assert after == before
    kept = [p.name for p in target.iterdir() if ".kept-" in p.name]
    assert len(kept) == (0 if found == "gone" else 1)


def test_what_has_no_folder_to_go_back_to_is_told_and_forced(store: Store, target: Path) -> None:
    (target / "pkg/empty").mkdir()
    with begin(store, target) as journal:
        journal.delete(target / "pkg/_C/lib.pyd")
        journal.delete(target / "pkg/empty")
        journal.delete(target / "a.txt")
    shutil.rmtree(target / "pkg")
    report = undo_last(store)
    assert report.state == "applied"
    assert {(Path(c.place).name, c.found.partition(";")[0]) for c in report.conflicts} == {
        ("lib.pyd", f"the folder {target / 'pkg/_C'} is gone"),
        ("empty", f"the folder {target / 'pkg'} is gone"),
    }
    assert undo_last(store, force=True).state == "undone"
    assert not (target / "pkg").exists()
    assert (target / "a.txt").read_text() == "old"


def test_an_undo_ends_also_where_the_target_was_moved(store: Store, target: Path) -> None:
    before = describe_tree(target)
    with begin(store, target) as journal:
        journal.write(target / "a.txt", b"new")
        journal.delete(target / "pkg")
        journal.set_value(r"HKCU\Environment", "CC", RegistryValue(data="tcc"))
    moved = target.rename(target.with_name("moved"))
    assert undo_last(store).state == "applied"
    moved.rename(target)
    assert undo_last(store).state == "undone"
    assert describe_tree(target) == before


def test_a_value_that_others_changed(store: Store, target: Path) -> None:
    registry = FileRegistry(store.root.parent / "registry.json")
    with begin(store, target) as journal:
        journal.set_value(r"HKCU\Environment", "CC", RegistryValue(data="tcc"))
    registry.store(r"HKCU\Environment", "CC", RegistryValue(data="cl"))
    (conflict,) = undo_last(store).conflicts
    assert conflict.found == "REG_SZ cl"
    assert undo_last(store, force=True).state == "undone"
    assert not registry._read()


def test_what_others_put_into_a_new_folder_stays(store: Store, target: Path) -> None:
    with begin(store, target) as journal:
        journal.write(target / "Include/Python.h", b"#")
        journal.write(target / "new/module.py", b"")
    plant(target, "Include/mine.h", "new/__pycache__/module.cpython-312.pyc")
    report = undo_last(store)
    assert report.state == "undone"
    assert [p.name for p in (target / "Include").iterdir()] == ["mine.h"]
    assert not (target / "new").exists()
    assert [note.split(" ")[0] for note in report.notes] == [str(target / "Include")]


def test_an_undone_journal_stays_undone(store: Store, target: Path) -> None:
    with begin(store, target) as journal:
        journal.delete(target / "a.txt")
    undo_last(store)
    (target / "a.txt").write_bytes(b"later")
    assert undo(store, journal.header.id).actions == ()
    assert (target / "a.txt").read_bytes() == b"later"


def test_what_a_kill_left_at_the_target_is_swept(store: Store, target: Path) -> None:
    """New files are laid out at the target, whose access rights they are to have."""
    journal = begin(store, target)
    journal.write(target / "a.txt", b"new")
    staged = journal.scratch(target)
    assert staged.is_relative_to(target)
    store.set_state(journal.header, "applied", journal.log)  # and killed before the rest of commit
    begin(store, target, "later")
    assert [p.name for p in target.iterdir() if p.name.startswith(".tritonwin")] == []
    assert (target / "a.txt").read_bytes() == b"new"


# -- programs that hold files


def hold(monkeypatch: pytest.MonkeyPatch, *held: str) -> None:
    """Renames fail as on Windows for a folder that holds a loaded DLL, or for an open file."""
    rename = Path.rename

    def refuse(self: Path, to: Path) -> Path:
        inside = self.is_dir() and any(p.name == "lib.pyd" for p in self.rglob("*"))
        if inside or self.name in held:
            raise PermissionError(errno.EACCES, "Access is denied", str(self))
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refuse)
    monkeypatch.setattr(disk, "PATIENCE", 0.0)


def test_a_folder_with_a_loaded_dll_goes_file_by_file(
    store: Store, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree_hash(target)
    hold(monkeypatch)
    with begin(store, target) as journal:
        journal.delete(target / "pkg")
        stage = plant(journal.scratch(target), "pkg/_C/lib.pyd", "pkg/b.py")
        journal.place(stage / "pkg", target / "pkg")
    assert sorted(p.name for p in (target / "pkg").iterdir()) == ["_C", "b.py"]
    assert undo_last(store).state == "undone"
    assert tree_hash(target) == before


def test_an_undo_that_moved_half_a_folder_goes_on(
    store: Store, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(target, "pkg/a.py", "pkg/z.py")
    before = tree_hash(target)
    with begin(store, target) as journal:
        journal.delete(target / "pkg")
    with monkeypatch.context() as patch:
        hold(patch, "z.py")
        with pytest.raises(JournalError, match=r"z\.py"):
            undo_last(store)
    assert (target / "pkg/a.py").exists()
    assert [h.state for h in store.unfinished()] == ["half"]
    assert undo_last(store).state == "undone"
    assert tree_hash(target) == before


def test_a_file_in_use_is_named_and_nothing_is_changed(
    store: Store, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree_hash(target)
    hold(monkeypatch, "a.txt")
    with pytest.raises(JournalError, match=r"a\.txt") as caught:
        apply(
            store,
            target,
            lambda j, t: j.delete(t / "pkg/__init__.py"),
            lambda j, t: j.write(t / "a.txt", b"new"),
        )
    assert "Close the programs" in caught.value.help
    assert tree_hash(target) == before


# -- the log, a full disk


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Make room"),
        (errno.EFBIG, "Raise that limit"),
        (errno.EROFS, "tritonwin undo --list"),
    ],
)
def test_every_refusal_says_what_to_do(number: int, advice: str) -> None:
    refused = disk.refusal(Path("x"), OSError(number, os.strerror(number)))
    assert advice in refused.help


def test_a_store_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    busy = Store(tmp_path / "file" / "journal").lock("python.exe")
    with pytest.raises(JournalError, match=r"cannot change .*\.lock") as refused, busy:
        pass
    assert "in the variable TRITONWIN_HOME" in refused.value.help


def test_a_full_disk(store: Store, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing more can be recorded, so nothing more is changed; the undo uses up the reserve."""
    before = tree_hash(target)
    write_log = Log._write
    filled: list[bool] = []

    def fill(self: Log, data: bytes) -> None:
        if filled and self.path.with_name(RESERVE).exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        write_log(self, data)

    monkeypatch.setattr(Log, "_write", fill)
    with pytest.raises(JournalError, match="No space") as caught:
        apply(
            store,
            target,
            lambda j, t: j.delete(t / "pkg"),
            lambda j, t: filled.append(True),
            lambda j, t: j.write(t / "a.txt", b"new"),
        )
    assert "Make room" in caught.value.help
    assert tree_hash(target) == before
    assert [h.state for h in store.journals()] == ["undone"]


DAMAGE: dict[str, Callable[[bytes], bytes | None]] = {
    "emptied": lambda content: b"",
    "filled with NULs": lambda content: bytes(len(content)),
    "deleted": lambda content: None,
    "not JSON": lambda content: b"not json\n{}\n",
    "JSON of another kind": lambda content: b"[[]]",
    "no text": lambda content: b"\xff\n\n",
    "only its first line": lambda content: content.splitlines(keepends=True)[0],
    "without its first line": lambda content: content.partition(b"\n")[2],
    "without a line in the middle": lambda content: b"".join(
        line for n, line in enumerate(content.splitlines(keepends=True)) if n != 1
    ),
    "a step changed": lambda content: content.replace(b"a.txt", b"b.txt"),
}


@pytest.mark.parametrize("cut_off", [False, True])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_log_is_not_guessed_at(
    store: Store, target: Path, damage: str, cut_off: bool
) -> None:
    """The originals that it kept stay."""
    journal = begin(store, target)
    journal.delete(target / "a.txt")
    journal.delete(target / "pkg")
    if not cut_off:
        journal.commit()
    file = store.folder(journal.header.id) / "steps.jsonl"
    content = DAMAGE[damage](file.read_bytes())
    file.unlink() if content is None else file.write_bytes(content)
    before = tree_hash(target)
    for action in (preview, undo):
        with pytest.raises(JournalError, match=r"steps\.jsonl") as refused:
            action(store, journal.header.id)
        assert f"tritonwin undo --forget {journal.header.id}" in refused.value.help
    with begin(store, target.parent / "another"):  # which sweeps
        pass
    kept = store.folder(journal.header.id) / "area" / "kept"
    assert sorted(p.name for p in kept.iterdir()) == ["1", "2"]
    assert tree_hash(target) == before


def deleted_and_placed(store: Store, target: Path) -> Journal:
    """A journal with a step of each kind."""
    with begin(store, target) as journal:
        journal.delete(target / "a.txt")
        scratch = journal.scratch(target)
        plant(scratch, "new/b.txt", "a file")
        journal.place(scratch / "new", target / "new")
    return journal


@pytest.mark.parametrize("content", [b"[" * 100_000, b"{}"])
@pytest.mark.parametrize("name", ["plan.json", "journal.json", "steps.jsonl"])
def test_a_file_that_was_replaced_is_a_damaged_one(
    store: Store, target: Path, name: str, content: bytes
) -> None:
    """Also by JSON that is deeper than Python's reader goes."""
    journal = deleted_and_placed(store, target)
    folder = store.folder(journal.header.id)
    (folder / name).write_bytes(content)
    assert [*store.journals(), *store.unreadable()]
    if name == "plan.json":
        store.plan(journal.header.id)
        assert undo_last(store).restored
        return
    with pytest.raises(JournalError, match=r"damaged|are missing"):
        undo(store, journal.header.id)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders here")
@pytest.mark.parametrize("name", ["journal.json", "steps.jsonl", "plan.json", "journal.json.new"])
@pytest.mark.parametrize("kind", ["pipe", "device", "link to a pipe"])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody_waiting(
    store: Store, target: Path, name: str, kind: str
) -> None:
    before = tree_hash(target)
    journal = deleted_and_placed(store, target)
    folder = store.folder(journal.header.id)
    place = folder / name
    place.unlink(missing_ok=True)
    if kind == "device":
        place.symlink_to("/dev/zero")
    else:
        os.mkfifo(pipe := target.parent / "pipe")
        place.symlink_to(pipe) if kind.startswith("link") else pipe.rename(place)
    if name in {"plan.json", "journal.json.new"}:
        assert store.plan(journal.header.id) is None
        assert undo_last(store).restored
        assert tree_hash(target) == before
        return
    with pytest.raises(JournalError, match=r"not a regular file|is missing"):
        undo(store, journal.header.id)
    with begin(store, target.parent / "another"):  # which sweeps
        pass
    assert (folder / "area" / "kept").is_dir()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders here")
def test_a_pipe_in_the_place_of_a_lock(store: Store, target: Path) -> None:
    with store.lock(str(target)):
        pass
    (file,) = (store.root / "locks").iterdir()
    file.unlink()
    os.mkfifo(file)
    with store.lock(str(target)), pytest.raises(TargetBusyError), store.lock(str(target)):
        pass


def test_a_log_cannot_name_folders_of_others_to_be_deleted(store: Store, target: Path) -> None:
    precious = target.parent / "precious" / "a.txt"
    plant(target.parent, "precious/a.txt", "a file")
    with begin(store, target) as journal:
        journal.delete(target / "a.txt")
    store.log(journal.header).append(MakeFolder(n=2, path=str(precious.parent)))
    store.sweep()
    store.forget(journal.header.id)
    assert precious.is_file()


@pytest.mark.parametrize("damage", ["", "\0" * 500, "later"])
def test_a_header_that_cannot_be_read_blocks_no_other(
    store: Store, target: Path, damage: str
) -> None:
    with begin(store, target, "good") as good:
        good.delete(target / "pkg")
    with begin(store, target, "bad") as bad:
        bad.delete(target / "a.txt")
    file = store.folder(bad.header.id) / "journal.json"
    later = file.read_text().replace("journal/3", "journal/4")
    file.write_text(later if damage == "later" else damage)
    assert [header.title for header in store.journals()] == ["good"]
    assert [each.id for each in store.unreadable()] == [bad.header.id]
    with pytest.raises(JournalError, match=r"journal\.json cannot be read") as refused:
        undo(store, bad.header.id)
    assert f"tritonwin undo --forget {bad.header.id}" in refused.value.help
    with begin(store, target, "another"):
        pass
    assert undo_last(store).title == "another"
    assert undo_last(store).title == "good"
    assert store.folder(bad.header.id).is_dir()  # what it kept is nobody's to delete unasked
    (aside,) = store.forget(bad.header.id)
    assert (aside / "area/kept/1").is_file()
    assert store.unreadable() == ()


def test_a_journal_that_was_not_begun_is_none(store: Store) -> None:
    plant(store.root, "261128-000000-000000/steps.jsonl", "a file")
    assert store.journals() == ()
    assert store.latest() is None


# -- one at a time

HOLD = """
import sys, time
from pathlib import Path
from tritonwin.journal import Store
with Store(Path(sys.argv[1])).lock(sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_two_at_once(store: Store, target: Path) -> None:
    exe = str(target / "python.exe")
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.root), exe], stdout=subprocess.PIPE
    )
    assert other.stdout
    try:
        assert other.stdout.readline().strip() == b"held"
        with pytest.raises(TargetBusyError, match="is at work on"), store.lock(exe):
            pass
        with store.lock(str(target.parent / "another" / "python.exe")):
            pass
    finally:
        other.kill()
        other.wait()
        other.stdout.close()
    # the system gave back what the killed process held
    with store.lock(exe), pytest.raises(TargetBusyError), store.lock(exe):
        pass
    with store.lock(exe):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps names as UTF-16")
def test_a_name_that_is_no_text_in_a_folder_that_is_placed(store: Store, target: Path) -> None:
    before = tree_hash(target)
    with begin(store, target) as journal:
        staged = plant(journal.scratch(target), os.path.join("new", os.fsdecode(b"\xff.txt")))
        journal.place(staged / "new", target / "new")
    assert undo_last(store).restored
    assert tree_hash(target) == before
