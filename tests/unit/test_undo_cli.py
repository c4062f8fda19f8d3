"""The commands undo and cache."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from commands import Call, Said
from trees import tree_hash, write

from tritonwin.facts.history import read_proven, write_proven
from tritonwin.journal import Journal, Store
from tritonwin.system.host import Environment


class Setting:
    """A target, its journals and a cache, and the commands that work on them."""

    def __init__(self, folder: Path, call: Call) -> None:
        self.home = folder / "home"
        self.target = write(folder / "target", {"a.txt": "old", "python": ""})
        self.store = Store(self.home / "journal")
        self.cache = folder / "cache"
        self.call = call

    def change(self, title: str = "write a.txt", session: str | None = None) -> str:
        with self.begin(title, session) as journal:
            journal.write(self.target / "a.txt", title.encode())
        return journal.header.id

    def begin(self, title: str, session: str | None = None) -> Journal:
        target = str(self.target / "python")
        return Journal.begin(self.store, target=target, title=title, session=session)

    def undo(self, *args: str, stdin: str = "") -> Said:
        return self.call("undo", *args, stdin=stdin.encode())


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> Setting:
    made = Setting(tmp_path, call)
    monkeypatch.setenv("TRITONWIN_HOME", str(made.home))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(made.cache))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(made.home / "none"))
    return made


def test_nothing_to_undo(setting: Setting) -> None:
    done = setting.undo()
    assert done.status == 2
    assert "tritonwin changed nothing" in done.err
    assert "changed nothing" in setting.undo("--list").out


def test_undo_shows_asks_and_does(setting: Setting) -> None:
    before = tree_hash(setting.target)
    identifier = setting.change()
    changed = tree_hash(setting.target)
    dry = setting.undo("--dry-run")
    assert (dry.status, tree_hash(setting.target)) == (0, changed)
    assert f"move {setting.target / 'a.txt'} to " in dry.out
    for answer in ("", "n\n"):
        assert setting.undo(stdin=answer).status == 1
        assert tree_hash(setting.target) == changed
    done = setting.undo(identifier, stdin="y\n")
    assert "Everything is as it was before." in done.out
    assert tree_hash(setting.target) == before
    assert setting.undo("--list").out.split()[1] == "undone"


def test_a_proof_goes_with_what_it_rested_on(setting: Setting) -> None:
    target = replace(healthy.TARGET, executable=str(setting.target / "python"))
    facts = replace(healthy.HEALTHY, target=target)
    home = Environment({"TRITONWIN_HOME": str(setting.home)})
    for yes, kept in ((["--dry-run"], True), (["--yes"], False)):
        setting.change()
        write_proven(facts, home)
        assert setting.undo(*yes).status == 0
        assert (read_proven(target, home) is not None) is kept
    # what was undone long ago is no reason to drop a proof of today
    write_proven(facts, home)
    earlier = setting.undo("--list").out.split()[0]
    setting.undo(earlier, "--yes")
    assert read_proven(target, home) is not None


def test_undo_as_json(setting: Setting) -> None:
    first, second = setting.change("first"), setting.change("second")
    listed = setting.undo("--list", "--json").document
    assert [j["id"] for j in listed["journals"]] == [second, first]
    document = setting.undo("--json", "--yes").document
    assert (document["undo"]["id"], document["undo"]["state"]) == (second, "undone")
    assert (setting.target / "a.txt").read_text() == "first"


def test_what_others_changed_is_told(setting: Setting) -> None:
    identifier = setting.change()
    (setting.target / "a.txt").write_text("mine")
    done = setting.undo("--yes")
    assert done.status == 1
    assert f"changed since: {setting.target / 'a.txt'}" in done.out
    assert "--force" in done.out
    assert f"tritonwin undo {identifier} --forget" in done.out
    assert setting.undo("--yes", "--force").status == 0
    assert (setting.target / "a.txt").read_text() == "old"


def test_as_it_was_before_is_not_said_of_a_folder_that_others_use(setting: Setting) -> None:
    with setting.begin("new") as journal:
        journal.write(setting.target / "new/a.txt", b"ours")
    write(setting.target, {"new/mine.txt": "mine"})
    done = setting.undo("--yes")
    assert done.status == 0
    assert "Everything else is as it was before." in done.out
    assert f"not as it was before: {setting.target / 'new'}" in done.out
    assert f"{setting.target / 'new'} stays: mine.txt" in done.out
    assert [p.name for p in (setting.target / "new").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("damage", ["emptied", "missing"])
def test_a_damaged_journal_is_named_where_nothing_else_can_be_undone(
    setting: Setting, damage: str
) -> None:
    bad = setting.change("bad")
    header = setting.store.folder(bad) / "journal.json"
    if damage == "missing":
        header.unlink()
    else:
        header.write_bytes(b"")
    target = ("--python", str(setting.target / "python"))
    for words in ([], target):
        done = setting.undo("--yes", *words)
        assert done.status == 2
        assert "changed nothing" not in done.err
        assert str(header) in done.err
        assert f"tritonwin undo --forget {bad}" in done.err
    later = setting.change("later")
    document = setting.undo("--yes", "--json").document
    assert (document["undo"]["id"], document["damaged"][0]["id"]) == (later, bad)
    setting.change("later")
    for words in (["--yes"], ["--list"]):
        assert f"tritonwin undo --forget {bad}" in setting.undo(*words).out
    refused = setting.undo(bad, "--yes")
    assert (refused.status, f"--forget {bad}" in refused.err) == (2, True)
    assert setting.undo(bad, "--forget", "--yes").status == 0
    assert setting.store.unreadable() == ()


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("lost", ["the file", "the files of a folder"])
def test_what_works_is_not_deleted_where_what_was_before_is_lost(
    setting: Setting, force: tuple[str, ...], lost: str
) -> None:
    write(setting.target, {"pkg/a.py": "old", "pkg/b.py": "old"})
    with setting.begin("upgrade") as journal:
        for name in ("pkg", "a.txt"):
            journal.delete(setting.target / name)
        stage = write(journal.scratch(setting.target), {"pkg/a.py": "new", "a.txt": "new"})
        for name in ("pkg", "a.txt"):
            journal.place(stage / name, setting.target / name)
    now = tree_hash(setting.target)
    kept = setting.store.folder(journal.header.id) / "area" / "kept"
    for file in kept.rglob("*"):
        if file.is_file() and (file.parent == kept) == (lost == "the file"):
            file.unlink()
    done = setting.undo("--yes", *force)
    assert done.status == 1
    assert tree_hash(setting.target) == now
    gone = setting.target / ("a.txt" if lost == "the file" else "pkg")
    assert f"changed since: {gone}" in done.out
    assert f"tritonwin undo {journal.header.id} --forget" in done.out


def test_what_a_program_kept_from_being_deleted_goes_with_the_next_undo(setting: Setting) -> None:
    """A pip whose tritonwin was killed was still writing."""
    setting.change("first")
    last = setting.change("last")
    assert setting.undo("--yes").status == 0
    write(setting.target, {f".tritonwin-{last}/staged/a/lib.pyd": "still written"})
    assert setting.undo("--dry-run").status == 0
    assert (setting.target / f".tritonwin-{last}").exists()
    assert setting.undo("--yes").status == 0
    assert not list(setting.target.glob(".tritonwin-*"))


def test_forget(setting: Setting) -> None:
    identifier = setting.change()
    kept = setting.home / "kept" / identifier
    assert str(kept) in setting.undo(identifier, "--forget", "--yes").out
    assert setting.store.journals() == ()
    assert [p.read_text() for p in (kept / "area/kept").iterdir()] == ["old"]
    assert (setting.target / "a.txt").read_text() == "write a.txt"
    missing = setting.undo(identifier)
    assert (missing.status, "there is no journal" in missing.err) == (2, True)


@pytest.mark.parametrize(
    ("option", "others"),
    [("--forget", ("--dry-run", "--json")), ("--list", ("--forget", "--force", "--dry-run", "ID"))],
)
def test_options_that_exclude_each_other(
    setting: Setting, option: str, others: tuple[str, ...]
) -> None:
    identifier = setting.change()
    for other in others:
        done = setting.undo(option, identifier if other == "ID" else other, "--yes")
        assert (done.status, "cannot be combined" in done.out + done.err) == (2, True)
        assert [header.id for header in setting.store.journals()] == [identifier]


def test_a_target_that_is_gone(setting: Setting) -> None:
    identifier = setting.change()
    shutil.rmtree(setting.target)
    done = setting.undo("--yes")
    assert done.status == 1
    assert f"{setting.target / 'python'} is not there any more." in done.out
    assert f"tritonwin undo {identifier} --forget" in done.out
    forced = setting.undo("--yes", "--force")
    assert (forced.status, "Everything else is as it was" in forced.out) == (0, True)
    assert setting.undo(identifier, "--forget", "--yes").status == 0


def test_what_was_cut_off_in_a_target_that_is_gone_can_be_forgotten(setting: Setting) -> None:
    setting.begin("cut off").delete(setting.target / "a.txt")
    assert setting.undo("--forget", "--yes").status == 2
    shutil.rmtree(setting.target)
    assert setting.undo("--forget", "--yes").status == 0
    assert setting.store.journals() == ()


def test_what_was_cut_off_cannot_be_forgotten(setting: Setting) -> None:
    setting.begin("cut off").write(setting.target / "a.txt", b"new")
    assert "cut off" in setting.undo("--list").out
    done = setting.undo("--forget", "--yes")
    assert done.status == 2
    assert "cut off in the middle" in done.err
    assert setting.undo("--yes").status == 0
    assert (setting.target / "a.txt").read_text() == "old"


def test_the_cache_is_listed_cleared_and_given_back(setting: Setting) -> None:
    suffix = ".pyd" if os.name == "nt" else ".so"
    stale = "A" * 52
    write(setting.cache, {f"{stale}/cuda_utils{suffix}": b"no module", "KEPT/notes.txt": "mine"})
    before = tree_hash(setting.cache)
    python = ("--python", sys.executable)
    listed = setting.call("cache", "list", "--json", *python).document
    states = {Path(e["entry"]["path"]).name: e["state"] for e in listed["entries"]}
    assert states == {stale: "stale"}
    assert "1 entries, 1 stale" in setting.call("cache", "list", *python).out

    dry = setting.call("cache", "clear", "--dry-run", *python)
    assert (dry.status, tree_hash(setting.cache)) == (0, before)
    assert f"1. clear 1 stale cache entries of {setting.cache}\n" in dry.out
    assert setting.call("cache", "clear", *python, stdin=b"n\n").status == 1
    assert tree_hash(setting.cache) == before

    cleared = setting.call("cache", "clear", "--yes", *python)
    assert cleared.status == 0
    identifier = setting.store.journals()[-1].id
    commands = [said for said in cleared.out.splitlines() if "tritonwin undo" in said]
    assert [said.split()[-1] for said in commands] == [identifier, identifier]
    assert [p.name for p in setting.cache.iterdir()] == ["KEPT"]
    report = setting.call("cache", "clear", "--all", "--yes", "--json", *python).document
    assert (report["cleared"], report["left"]) == ([], [str(setting.cache / "KEPT")])
    assert setting.undo("--yes").status == 0
    assert tree_hash(setting.cache) == before


def test_the_rounds_of_a_fix_go_together(setting: Setting) -> None:
    before = tree_hash(setting.target)
    setting.change("another time")
    between = tree_hash(setting.target)
    first = setting.change("round 1")
    setting.change("round 2", session=first)
    setting.change("round 3", session=first)
    shown = setting.undo("--dry-run")
    assert [line for line in shown.out.splitlines() if line.startswith("then ")] == [
        f"then {header.id}  {header.title}"
        for header in setting.store.session(setting.store.header(first))[1:]
    ]
    done = setting.undo("--yes", "--json")
    document = done.document
    assert [document["undo"]["title"], *(u["title"] for u in document["also"])] == [
        "round 3",
        "round 2",
        "round 1",
    ]
    assert tree_hash(setting.target) == between
    assert setting.undo("--yes").status == 0
    assert tree_hash(setting.target) == before


def test_one_round_can_be_named(setting: Setting) -> None:
    first = setting.change("round 1")
    middle = tree_hash(setting.target)
    last = setting.change("round 2", session=first)
    assert setting.undo(last, "--yes").status == 0
    assert tree_hash(setting.target) == middle


def test_what_was_changed_since_stops_all_rounds(setting: Setting) -> None:
    first = setting.change("round 1")
    setting.change("round 2", session=first)
    (setting.target / "a.txt").write_text("mine")
    assert setting.undo("--yes").status == 1
    assert (setting.target / "a.txt").read_text() == "mine"
