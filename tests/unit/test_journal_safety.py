"""Files of others survive every undo; a target and an order are not a spelling and a clock."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from killing import CAN_FORK, MEMORY, killed_at
from trees import describe_tree, plant, write

from tritonwin.errors import UserError
from tritonwin.journal import Journal, JournalError, Store, UndoReport, preview, undo
from tritonwin.journal import journal as writing
from tritonwin.journal.records import Move
from tritonwin.journal.store import resolved
from tritonwin.journal.view import Imagined
from tritonwin.remedies.undo import forget_change, undo_change
from tritonwin.system.registry import this_registry

linked = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def env(tmp_path: Path) -> Path:
    """A virtual environment with an older version of a package."""
    return write(
        tmp_path / "env",
        {
            "bin/python": "exe",
            "pyvenv.cfg": "",
            "site/pkg/__init__.py": "1",
            "site/pkg/old.py": "1",
        },
    )


NEW = {"__init__.py": "2", "sub/new.py": "2", "sub/deep/er.py": "2"}


def install(store: Store, python: Path, site: Path, name: str, files: dict[str, str]) -> Journal:
    """Replace or add a package, as `install` does."""
    with Journal.begin(store, target=str(python), title=f"install {name}") as journal:
        if (site / name).exists():
            journal.delete(site / name)
        stage = write(journal.scratch(site), {f"{name}/{file}": t for file, t in files.items()})
        journal.place(stage / name, site / name)
    return journal


def undo_as_foreseen(store: Store, identifier: str, *, force: bool = False) -> UndoReport:
    foreseen = preview(store, identifier)
    report = undo(store, identifier, force=force)
    assert (report.conflicts, report.notes) == (foreseen.conflicts, foreseen.notes)
    if report.state == "undone":
        assert report.actions == foreseen.actions
    return report


# -- what others wrote


def test_a_file_of_others_in_a_new_package_stays(store: Store, env: Path) -> None:
    site = env / "site"
    journal = install(store, env / "bin/python", site, "fresh", NEW)
    plant(site, "fresh/sub/mine.txt", "fresh/__pycache__/x.cpython-312.pyc")
    report = undo_as_foreseen(store, journal.header.id)
    assert (report.state, report.restored, report.conflicts) == ("undone", False, ())
    assert report.notes == (f"{site / 'fresh'} stays: sub/mine.txt in it is not tritonwin's",)
    left = {p.relative_to(site).as_posix() for p in (site / "fresh").rglob("*") if p.is_file()}
    assert left - {"fresh/__pycache__/x.cpython-312.pyc"} == {"fresh/sub/mine.txt"}


@pytest.mark.parametrize("name", ["fresh", "pkg", "made"])
def test_a_file_of_others_among_bytecode_stays(store: Store, env: Path, name: str) -> None:
    site = env / "site"
    if name == "made":
        with Journal.begin(store, target=str(env / "bin/python"), title="a module") as journal:
            journal.write(site / "made/__init__.py", b"ours")
    else:
        journal = install(store, env / "bin/python", site, name, NEW)
    plant(site, f"{name}/__pycache__/notes.txt", f"{name}/__pycache__/new.cpython-312.pyc")
    report = undo_as_foreseen(store, journal.header.id)
    assert (report.state, report.restored) == ("undone", False)
    assert report.notes == (f"{site / name} stays: __pycache__/notes.txt in it is not tritonwin's",)
    assert (site / f"{name}/__pycache__/notes.txt").is_file()
    assert not (site / f"{name}/sub").exists()


@pytest.mark.parametrize("name", ["fresh", "pkg"])
def test_an_edit_of_others_is_named_and_kept(store: Store, env: Path, name: str) -> None:
    site = env / "site"
    before = describe_tree(env)
    journal = install(store, env / "bin/python", site, name, NEW)
    edited, gone = site / name / "sub/new.py", site / name / "sub/deep/er.py"
    edited.write_text("3")
    gone.unlink()
    changed = describe_tree(env)
    report = undo_as_foreseen(store, journal.header.id)
    assert report.state == "applied"
    assert {(c.place, c.found) for c in report.conflicts} == {
        (str(edited), "changed since"),
        (str(gone), "gone"),
    }
    assert describe_tree(env) == changed
    forced = undo_as_foreseen(store, journal.header.id, force=True)
    assert (forced.state, forced.restored) == ("undone", False)
    kept = edited.with_name(f"new.py.kept-{journal.header.id}")
    assert kept.read_text() == "3"
    shutil.rmtree(site / name / "sub")
    if name == "fresh":
        (site / name).rmdir()
    assert describe_tree(env) == before


def test_a_file_that_was_merged_into_a_folder_of_others_is_compared(
    store: Store, env: Path
) -> None:
    with Journal.begin(store, target=str(env / "bin/python"), title="headers") as journal:
        stage = write(journal.scratch(env), {"pkg/extra.h": "ours"})
        journal.place(stage / "pkg", env / "site/pkg")
    (env / "site/pkg/extra.h").write_text("mine")
    (conflict,) = undo_as_foreseen(store, journal.header.id).conflicts
    assert (conflict.place, conflict.found) == (str(env / "site/pkg/extra.h"), "changed since")


def test_what_was_kept_is_looked_at_before_it_comes_back(store: Store, env: Path) -> None:
    journal = install(store, env / "bin/python", env / "site", "pkg", NEW)
    (kept,) = store.folder(journal.header.id).glob("area/kept/*")
    (kept / "old.py").write_text("tampered with")
    (conflict,) = undo_as_foreseen(store, journal.header.id).conflicts
    assert conflict.found.startswith("the copy kept in ")
    forced = undo_as_foreseen(store, journal.header.id, force=True)
    assert (forced.state, forced.restored) == ("undone", False)


@pytest.mark.skipif(not CAN_FORK, reason="kills a forked process")
def test_an_undo_around_files_of_others_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    point, kills = 1, 0
    while True:
        root = tmp_path / str(point)
        env = write(root / "env", {"bin/python": "", "pyvenv.cfg": "", "site/pkg/old.py": "1"})
        store = Store(root / "store")
        journal = install(store, env / "bin/python", env / "site", "pkg", NEW)
        plant(env, "site/pkg/sub/mine.txt")
        killed = killed_at(point, lambda j=journal, s=store: undo(s, j.header.id))
        if killed:
            kills += 1
            assert undo(store, journal.header.id, force=True).state == "undone"
        found = {p.name for p in (env / "site").rglob("*") if p.is_file()}
        assert {"old.py", "mine.txt"} <= found, point
        assert not found & {"new.py", "er.py"}, point
        if not killed:
            break
        point += 1
    assert kills > 10


# -- the same target by another name


@pytest.mark.parametrize("action", [undo_change, forget_change])
def test_another_tritonwin_came_first(
    store: Store, env: Path, monkeypatch: pytest.MonkeyPatch, action: Any
) -> None:
    install(store, env / "bin/python", env / "site", "pkg", NEW)
    lock = Store.lock

    def late(*args: Any) -> Any:
        monkeypatch.setattr(Store, "lock", lock)
        action(store, lambda _: True)
        return lock(*args)

    monkeypatch.setattr(Store, "lock", late)
    with pytest.raises(JournalError, match=r"in the meantime|there is no journal"):
        action(store, lambda _: True)


def test_an_undo_is_planned_in_proportion_to_the_files(tmp_path: Path) -> None:
    def calls(count: int) -> int:
        view, made = Imagined(this_registry()), 0

        def counted(_: object, event: str, __: object) -> None:
            nonlocal made
            made += event.endswith("call")

        sys.setprofile(counted)
        for number in range(count):
            old, new = tmp_path / "kept" / f"{number}", tmp_path / "bin" / f"{number}"
            assert view.kind(new) == "absent"
            view.move(old, new)
        view.names(tmp_path / "bin")
        sys.setprofile(None)
        return made

    (tmp_path / "bin").mkdir()
    calls(10)
    assert calls(400) < 5 * calls(100)


@linked
@pytest.mark.parametrize("spelling", ["bin/python3", "../link/bin/python", "bin/../bin/python"])
def test_a_target_is_what_it_is_to_the_file_system(store: Store, env: Path, spelling: str) -> None:
    (env / "bin/python3").symlink_to("python")
    (env.parent / "link").symlink_to(env, target_is_directory=True)
    before = describe_tree(env)
    one, other = env / "bin/python", env / spelling
    first = install(store, one, env / "site", "pkg", NEW)
    plant(env, "site/pkg/mine.txt")
    second = install(store, other, env / "site", "pkg", {"__init__.py": "3"})
    assert [h.id for h in store.journals(str(one))] == [first.header.id, second.header.id]
    with pytest.raises(JournalError, match="before"):
        undo(store, first.header.id)
    for identifier in (second.header.id, first.header.id):
        assert undo_as_foreseen(store, identifier).state == "undone"
    assert (env / "site/pkg/mine.txt").is_file()
    (env / "site/pkg/mine.txt").unlink()
    assert describe_tree(env) == before
    with store.lock(str(one)), pytest.raises(Exception, match="is at work"), store.lock(str(other)):
        pass
    Journal.begin(store, target=str(other), title="cut off").delete(env / "site/pkg")
    with pytest.raises(JournalError, match="cut off"):
        Journal.begin(store, target=str(one), title="another")


@linked
def test_two_interpreters_of_a_folder_that_is_no_environment_are_two(tmp_path: Path) -> None:
    folder = write(tmp_path / "usr", {"python3.11": "", "python3.12": ""})
    (folder / "python3").symlink_to("python3.12")
    places = [resolved(str(folder / name)) for name in ("python3.11", "python3.12", "python3")]
    assert places[0] != places[1] == places[2]


# -- order


def clock(time: Callable[[], datetime]) -> type[datetime]:
    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return time()

    return Clock


def test_the_order_is_not_the_clocks(
    store: Store, env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = describe_tree(env)
    now = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
    monkeypatch.setattr(writing, "datetime", clock(lambda: now))
    first = install(store, env / "bin/python", env / "site", "pkg", NEW)
    again = install(store, env / "bin/python", env / "site", "pkg", {"a.py": "in the same moment"})
    now -= timedelta(days=1)
    last = install(store, env / "bin/python", env / "site", "pkg", {"a.py": "a day earlier"})
    ids = [first.header.id, again.header.id, last.header.id]
    assert [header.id for header in store.journals()] == ids
    assert sorted(ids) != ids
    for identifier in reversed(ids):
        latest = store.latest()
        assert latest
        assert latest.id == identifier
        assert undo_as_foreseen(store, identifier).restored
    assert describe_tree(env) == before


# -- all of it together

NAMES = ("a", "b", "c")
FILES = ("x.py", "y.py", "s/z.py", "own.pyc", "__pycache__/notes.txt")
PLACES = st.tuples(st.sampled_from(NAMES), st.sampled_from(FILES)).map("/".join)


@dataclass
class Applied:
    identifier: str
    package: Path
    before: list[str]


class Journals(RuleBasedStateMachine):
    """Installs by two spellings, edits of others, clock jumps, kills, undo and forget in any order.

    No content that tritonwin did not write ever disappears, and a change that says so is undone as
    if it had never been.
    """

    did: ClassVar[Counter[str]] = Counter()  # in all examples

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY)
        root = Path(self.folder.name).resolve()
        self.env = write(root / "env", {"bin/python": "", "pyvenv.cfg": "", "site/a/x.py": "old a"})
        other = Path(str(self.env).upper())
        if sys.platform != "win32":
            other = root / "link"
            other.symlink_to(self.env, target_is_directory=True)
        self.spellings = [self.env, other]
        self.site = self.env / "site"
        self.store = Store(root / "store")
        self.theirs = {"old a"}  # contents that tritonwin did not write
        self.applied: list[Applied] = []
        self.count = 0
        self.fsync, os.fsync = os.fsync, lambda descriptor: None
        self.clock = datetime(2026, 1, 1, tzinfo=timezone.utc)
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(writing, "datetime", clock(lambda: self.clock))

    def teardown(self) -> None:
        os.fsync = self.fsync
        self.patch.undo()
        self.folder.cleanup()

    @initialize()
    def start(self) -> None:
        self.unfinished = False

    def new(self, who: str) -> str:
        self.count += 1
        return f"{who} {self.count}"

    @rule(
        name=st.sampled_from(NAMES),
        files=st.sets(st.sampled_from(FILES[:3])),
        spelling=st.integers(0, 1),
        kill=st.integers(0, 60),
    )
    def install(self, name: str, files: set[str], spelling: int, kill: int) -> None:
        if self.unfinished:
            return
        before = describe_tree(self.site / name)
        env = self.spellings[spelling]
        contents = {file: self.new("ours") for file in sorted(files | {"__init__.py"})}

        def change() -> None:
            install(self.store, env / "bin/python", env / "site", name, contents)

        if kill % 3 == 0:
            self.unfinished = killed_at(kill + 1, change)
            Journals.did["killed installs"] += self.unfinished
        else:
            change()
            Journals.did["installs"] += 1
        latest = self.store.latest(str(self.env / "bin/python"))
        if latest and latest.id not in {a.identifier for a in self.applied}:
            self.applied.append(Applied(latest.id, self.site / name, before))
        self.unfinished = bool(self.store.unfinished())

    @rule(place=PLACES)
    def write_a_file(self, place: str) -> None:
        file = self.site / place
        if file.is_file() and file.read_text().startswith("theirs"):
            return  # what they replace themselves may go
        if file.is_file():
            self.theirs.discard(file.read_text())
        if any(p.is_file() for p in file.parents):
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.new("theirs"))
        self.theirs.add(file.read_text())

    @rule(place=PLACES)
    def remove_a_file(self, place: str) -> None:
        file = self.site / place
        if file.is_file():
            self.theirs.discard(file.read_text())
            file.unlink()

    @rule(place=PLACES, name=st.sampled_from(NAMES))
    def rename_a_file(self, place: str, name: str) -> None:
        file = self.site / place
        new = self.site / f"{name}-{self.count}.txt"
        if file.is_file() and not new.exists():
            self.theirs.add(file.read_text())
            file.rename(new)

    @rule(hours=st.integers(-48, 48))
    def set_the_clock(self, hours: int) -> None:
        self.clock += timedelta(hours=hours)

    @precondition(lambda self: self.applied)
    @rule(which=st.integers(0, 5), force=st.booleans(), kill=st.integers(0, 60))
    def undo(self, which: int, force: bool, kill: int) -> None:
        chosen = self.applied[which % len(self.applied)]

        def undone() -> UndoReport:
            return undo(self.store, chosen.identifier, force=force)

        try:
            if kill % 2 == 0 and killed_at(kill + 1, undone_or_refused(undone)):
                self.unfinished = bool(self.store.unfinished())
                Journals.did["killed undos"] += 1
                return
            report = undone()
        except JournalError:
            Journals.did["refused undos"] += 1
            return
        self.unfinished = bool(self.store.unfinished())
        Journals.did["conflicts" if report.state != "undone" else "undos"] += 1
        Journals.did["as before"] += report.restored
        if report.state == "undone":
            self.applied.remove(chosen)
        steps = self.store.log(self.store.header(chosen.identifier)).steps
        touched = [
            path
            for step in steps
            if isinstance(step, Move)
            for path in (step.source, step.destination)
        ]
        if report.restored and any(map(resolved_is(chosen.package), touched)):
            assert not report.notes
            assert describe_tree(chosen.package) == chosen.before

    @precondition(lambda self: self.applied)
    @rule(which=st.integers(0, 5))
    def forget(self, which: int) -> None:
        chosen = self.applied[which % len(self.applied)]
        try:
            forget_change(self.store, lambda _: True, chosen.identifier)
        except UserError:
            return
        self.applied.remove(chosen)
        Journals.did["forgotten"] += 1

    @invariant()
    def nothing_of_others_is_gone(self) -> None:
        Journals.did["steps"] += 1
        aside = self.store.root.parent / "kept"
        places = (self.site, self.store.root, aside, *self.env.glob("**/.tritonwin-*"))
        files = (p for place in places for p in place.rglob("*") if p.is_file())
        there = {p.read_bytes().decode("utf-8", "replace") for p in files}
        assert self.theirs <= there, self.theirs - there


def resolved_is(place: Path) -> Callable[[str], bool]:
    def same(path: str) -> bool:
        return os.path.normcase(os.path.realpath(path)) == os.path.normcase(place)

    return same


def undone_or_refused(action: Any) -> Any:
    def run() -> None:
        try:
            action()
        except JournalError:
            pass

    return run


TestJournals = Journals.TestCase
TestJournals.settings = settings(
    max_examples=40 if CAN_FORK else 20, stateful_step_count=15, deadline=None
)


@pytest.mark.full
def test_many_more_journals() -> None:
    Journals.did.clear()
    steps, examples = (20_000, 200) if CAN_FORK else (1_500, 30)  # Wine takes 40 ms a step
    while Journals.did["steps"] < steps:
        more = settings(max_examples=examples, stateful_step_count=50, deadline=None, database=None)
        run_state_machine_as_test(Journals, settings=more)
    print(dict(Journals.did))
    assert min(Journals.did.values()) > steps / 1000, Journals.did
