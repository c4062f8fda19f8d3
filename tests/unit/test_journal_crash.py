"""A kill at any point of an apply or an undo: undo restores the identical tree and registry."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from killing import CAN_FORK, MEMORY, Scene, killed_at
from trees import write

from tritonwin.journal import Journal, RegistryValue, preview, undo
from tritonwin.journal.records import MakeFolder, Move, Step

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="the lane kills processes inside Windows")

KEY = r"HKCU\Software\Lane\Deep"


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed loses nothing that it wrote; only a power cut needs fsync."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


Change = Callable[[Journal, Path], object]


def apply(place: Scene, changes: Sequence[Change]) -> None:
    (target,) = place.folders
    exe = str(target / "python.exe")
    with Journal.begin(place.store, target=exe, title="test", registry=place.registry) as journal:
        for change in changes:
            change(journal, target)


@contextmanager
def a_place(files: dict[str, str], target_at: Path | None = None) -> Iterator[Scene]:
    """A place with these files, of which the one called `ro` may not be written."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        target = (target_at or Path(name)) / "target"
        write(target, {"python.exe": "exe", **files})
        for file in target.rglob("ro"):
            if file.is_file():  # into a folder like that nobody but root could look
                file.chmod(0o444)
        place = Scene(Path(name), (target,))
        value = RegistryValue(kind="REG_EXPAND_SZ", data="%A%")
        place.registry.store("HKCU\\Environment", "CUDA_PATH", value)
        yield place


def staged(journal: Journal, target: Path, files: dict[str, str], to: str) -> None:
    stage = write(journal.scratch(target), files)
    for child in sorted(stage.iterdir()):
        journal.place(child, target / to / child.name)


# What a remedy does: a distribution replaced, a settings file rewritten, headers put in place,
# a shadowing file renamed, a runtime DLL replaced, variables set, changed and removed.
REPAIR: list[Change] = [
    lambda j, t: j.delete(t / "site/triton"),
    lambda j, t: j.delete(t / "site/triton-3.3.dist-info"),
    lambda j, t: staged(
        j,
        t,
        {
            "triton/__init__.py": "new",
            "triton/_C/libtriton.pyd": "new",
            "triton-3.5.dist-info/RECORD": "r",
            "nvidia/cublas/bin/a.dll": "new",
            "nvidia/cudnn/b.dll": "new",
        },
        "site",
    ),
    lambda j, t: j.write(t / "python312._pth", b"import site\n"),
    lambda j, t: j.write(t / "Include/Python.h", b"#define"),
    lambda j, t: j.write(t / "libs/python312.lib", b"!<arch>"),
    lambda j, t: j.write(t / "ro", b"no longer"),
    lambda j, t: j.move(t / "random.py", t / "random.py.shadow"),
    lambda j, t: j.write(t / "msvcp140.dll", b"newer"),
    lambda j, t: j.delete(t / "empty/one"),
    lambda j, t: j.delete(t / "empty"),
    lambda j, t: j.write(t / "python312._pth", b"import site\n# twice\n"),
    lambda j, t: j.set_value(KEY, "A", RegistryValue(kind="REG_DWORD", data=1)),
    lambda j, t: j.set_value(KEY, "A", RegistryValue(kind="REG_EXPAND_SZ", data="%A%")),
    lambda j, t: j.set_value("HKCU\\Environment", "CUDA_PATH", None),
    lambda j, t: j.set_value("HKCU\\Environment", "CC", RegistryValue(data="tcc")),
]
BEFORE = {
    "site/triton/__init__.py": "old",
    "site/triton/ro": "old",
    "site/triton-3.3.dist-info/RECORD": "old",
    "site/nvidia/cublas/bin/a.dll": "old",
    "site/nvidia/cublas/c.dll": "old",
    "python312._pth": "python312.zip\n",
    "ro": "not for writing",
    "random.py": "mine",
    "msvcp140.dll": "older",
    "empty/one": "1",
}


def test_a_repair_killed_at_every_point() -> None:
    with a_place(BEFORE) as place:
        assert place.kill_everywhere(lambda: apply(place, REPAIR)) >= 300


def test_a_repair_on_another_volume_killed_at_every_point() -> None:
    with tempfile.TemporaryDirectory() as there, a_place(BEFORE, Path(there)) as place:
        if place.root.stat().st_dev == Path(there).stat().st_dev:
            pytest.skip("no second volume")
        assert place.kill_everywhere(lambda: apply(place, REPAIR), every=5) >= 60
        assert list(Path(there).rglob(".tritonwin-*")) == []


NAMES = st.sampled_from(["a", "b", "ro"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CONTENT = st.sampled_from(["", "x", "yy"])


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    files: dict[str, str] = {}
    for path in draw(st.lists(PATHS, max_size=6, unique=True)):
        if not any(f.startswith(path + "/") or path.startswith(f + "/") for f in files):
            files[path] = draw(CONTENT)
    return files


@dataclass(frozen=True)
class RandomChange:
    """Changes what is there; where that makes no sense, nothing."""

    kind: str
    path: str
    other: str
    data: bytes

    def __call__(self, journal: Journal, target: Path) -> None:
        getattr(self, self.kind)(journal, target / self.path)

    @staticmethod
    def free(place: Path) -> bool:
        """True if a folder could be made there."""
        return not any(p.is_file() for p in (place, *place.parents))

    def delete(self, journal: Journal, place: Path) -> None:
        if os.path.lexists(place):
            journal.delete(place)

    def write(self, journal: Journal, place: Path) -> None:
        if self.free(place.parent):
            journal.write(place, self.data)

    def move(self, journal: Journal, place: Path) -> None:
        to = place.parent / self.other
        if place.exists() and not to.exists() and self.free(to) and place not in to.parents:
            journal.move(place, to)

    def place(self, journal: Journal, place: Path) -> None:
        if self.free(place):
            staged(journal, place, {"s/a/b": "new", "s/b": "new"}, "")

    def make_folder(self, journal: Journal, place: Path) -> None:
        if self.free(place):
            journal.make_folder(place)

    def set_value(self, journal: Journal, place: Path) -> None:
        del place
        key = "HKCU\\" + self.path.replace("/", "\\")
        journal.set_value(key, self.other, RegistryValue(data=self.other) if self.data else None)


KINDS = ("delete", "write", "move", "place", "make_folder", "set_value")


def changes() -> st.SearchStrategy[RandomChange]:
    return st.builds(RandomChange, st.sampled_from(KINDS), PATHS, PATHS, CONTENT.map(str.encode))


@settings(max_examples=80)
@given(trees(), st.lists(changes(), min_size=1, max_size=6), st.data())
def test_random_changes_and_a_cut_off_undo(
    files: dict[str, str], todo: list[Change], data: st.DataObject
) -> None:
    with a_place(files) as place:
        old = place.state()
        killed_at(data.draw(st.integers(1, 80), "apply"), lambda: apply(place, todo))
        while killed_at(data.draw(st.integers(1, 60), "undo"), place.undo_all):
            pass
        place.undo_all()
        assert place.state() == old


@settings(max_examples=80)
@given(trees(), st.lists(st.lists(changes(), max_size=5), min_size=1, max_size=3))
def test_journals_are_undone_newest_first_as_a_dry_run_says(
    files: dict[str, str], journals: list[list[Change]]
) -> None:
    with a_place(files) as place:
        old = place.state()
        for todo in journals:
            apply(place, todo)
        for header in place.store.journals()[::-1]:
            applied = place.state()
            foreseen = preview(place.store, header.id, place.registry)
            assert place.state() == applied
            done = undo(place.store, header.id, registry=place.registry)
            assert (done.state, done.actions) == ("undone", foreseen.actions)
        assert place.state() == old
        assert place.store.latest() is None


def test_a_line_cut_anywhere_was_never_acted_on() -> None:
    """A power cut can leave any part of the last line."""
    with a_place({"a": "old"}) as place:
        old = place.state()
        todo: list[Change] = [lambda j, t: j.write(t / "a", b"new"), lambda j, t: j.delete(t / "a")]
        points = 0
        while killed_at(points + 1, lambda: apply(place, todo)):
            points += 1
            header = place.store.latest()
            log = place.store.root / (header.id if header else "") / "steps.jsonl"
            # dies right after a line was written: any part of it may have reached the disk
            if header and log.exists() and log.read_bytes():
                _cut_and_undo(place, log, old)
            place.undo_all()
            assert place.state() == old
            shutil.rmtree(place.store.root)
        assert points > 20


def _cut_and_undo(place: Scene, log: Path, old: object) -> None:
    """A last line that nothing was done about yet can be cut to any length."""
    content = log.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    steps = place.store.log(place.store.header(log.parent.name)).steps
    if not steps or _done(steps[-1]):
        return
    with place.saved() as restore:
        for length in range(last, len(content), 30):
            log.write_bytes(content[:length])
            place.undo_all()
            assert place.state() == old
            restore()


def _done(step: Step) -> bool:
    if isinstance(step, Move):
        return not os.path.lexists(step.source)
    return isinstance(step, MakeFolder) and Path(step.path).exists()
