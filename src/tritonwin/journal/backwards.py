"""Decide how a step is undone, by a look at the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TypeAlias

from tritonwin.journal.log import Log
from tritonwin.journal.records import MakeFolder, Move, SetValue, Step
from tritonwin.journal.store import same_volume
from tritonwin.journal.tree import is_compiled, listing_hash
from tritonwin.journal.view import Machine
from tritonwin.system.registry import RegistryValue


@dataclass(frozen=True)
class Rename:
    source: Path
    destination: Path


@dataclass(frozen=True)
class TakeFolder:
    path: Path


@dataclass(frozen=True)
class Discard:
    """Delete compiled files that Python made from ours."""

    path: Path


@dataclass(frozen=True)
class PutValue:
    key: str
    name: str
    value: RegistryValue | None


_CHANGED = "changed since"
Action: TypeAlias = Rename | TakeFolder | Discard | PutValue


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """A place that is neither as the journal left it nor as it was before.

    Attributes:
        lost: the copy that was kept for the undo is gone, so it can never be as it was before.
    """

    place: str
    found: str  # how it is now
    lost: bool = False


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The undo of one step. With conflicts, `actions` are those that force would do.

    Attributes:
        split: a folder is moved in parts, so that what is missing from it may be moved already.
    """

    actions: tuple[Action, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    split: bool = False


@dataclass(frozen=True)
class Backwards:
    """Undoes steps one at a time, the newest first.

    Attributes:
        areas: the journal's own folders, see `Store.areas`.
        shared: folders that this undo emptied of what is tritonwin's, and that others' files keep.
    """

    view: Machine
    log: Log
    areas: tuple[Path, ...]
    shared: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        for step in self.log.steps:
            # of an earlier, cut-off undo
            if isinstance(step, Move) and step.put and step.n in self.log.split:
                self.shared.add(Path(step.destination))
            elif isinstance(step, MakeFolder) and step.n in self.log.undone:
                self.shared.add(Path(step.path))

    def decide(self, step: Step, *, certain: bool) -> Decision:
        """The undo of the step; empty where it was not done or is undone already.

        `certain` says that the step was done and not yet undone.
        """
        match step:
            case Move():
                return self._move(step, certain=certain)
            case MakeFolder(path=name):
                # all areas go when everything is undone
                return Decision() if self.own(Path(name)) else self._made_folder(Path(name))
            case SetValue():
                return self._value(step)
        raise TypeError(f"no such step: {step}")

    def own(self, path: Path) -> bool:
        return any(path.is_relative_to(area) for area in self.areas)

    def _move(self, step: Move, *, certain: bool) -> Decision:
        old, new = Path(step.source), Path(step.destination)
        first, *others = self.areas
        for area in others:
            # so that a DLL that is still loaded is left in our own folder, not in the target's
            if old.is_relative_to(area) and same_volume(area, first):
                old = first / old.relative_to(area)
        split = step.n in self.log.split
        if self.view.kind(new) == "absent":
            return Decision() if split else self._lost(old, new, certain=certain)
        if self.own(Path(step.source)):
            if self.view.kind(old) != "absent" and not split:
                return Decision()  # a rename that was not done: what is there is somebody's
            return self._take_out(step, old, new, split=split)
        if not self.own(old) and self.view.kind(old.parent) == "absent":
            # also with force: a new folder would hold a part of what belongs there
            return _conflict(old, f"the folder {old.parent} is gone; what was there is in {new}")
        return self._put_back(step, old, new, split=split)

    def _take_out(self, step: Move, old: Path, new: Path, *, split: bool) -> Decision:
        """Take away what the journal put into place, and nothing else."""
        expected: dict[str, str] = json.loads(step.put or "{}")
        found = self.view.listing(new)
        changed = [n for n in expected if n in found and found[n] != expected[n]]
        if "." in changed:
            conflict = Conflict(place=str(new), found=_CHANGED)
            return Decision(actions=(self._keep(new),), conflicts=(conflict,))
        missing = [n for n in expected if n not in found and not split]
        foreign = [n for n in found if n not in expected and not _compiled(n)]
        if not (changed or missing or foreign):
            if self.view.kind(old) == "absent":
                return Decision(actions=(Rename(new, old),))
            return Decision(actions=tuple(action for action, _ in self._into(new, old)))
        others = [*foreign, *changed]
        return Decision(
            actions=tuple(self._parts(new, old, expected, found, set(others))),
            conflicts=tuple(
                Conflict(place=str(new / n), found=_CHANGED if n in found else "gone")
                for n in (*changed, *missing)
            ),
            notes=tuple(f"{new} stays: {n} in it is not tritonwin's" for n in others[:1]),
            split=True,
        )

    def _parts(
        self,
        new: Path,
        old: Path,
        expected: Mapping[str, str],
        found: Mapping[str, str],
        others: set[str],
    ) -> Iterator[Action]:
        """Move what was put into `new` back to `old`, around what others have in it."""
        busy = {".", *others, *(p for name in others for p in _above(name))}
        moved: set[str] = set()
        for name in sorted(expected, key=lambda name: name.split("/")):
            if name == "." or name not in found or moved & set(_above(name)):
                continue
            if name in others:
                yield self._keep(new / name)
                moved.add(name)
            elif name not in busy:
                yield Rename(new / name, old / name)
                moved.add(name)
        if not others:
            yield from (Discard(new / n) for n in found if "/" not in n and _compiled(n))
            yield TakeFolder(new)
        else:
            self.shared.update(new / name if name != "." else new for name in busy)

    def _put_back(self, step: Move, old: Path, new: Path, *, split: bool) -> Decision:
        """Bring back what the journal moved away."""
        conflicts: tuple[Conflict, ...] = ()
        kept = self.view.stamps(new) if self.own(new) and not split and step.stamp else None
        if kept is not None and listing_hash(kept) != step.stamp:
            conflicts = (
                Conflict(
                    place=str(old),
                    found=f"the copy kept in {new} was changed",
                    lost=all(what == "folder" for what in kept.values()),
                ),
            )
        if self.view.kind(old) == "absent":
            return Decision(actions=(Rename(new, old),), conflicts=conflicts)
        folders = self.view.kind(new) == self.view.kind(old) == "folder"
        if folders and (split or old in self.shared):
            merged = list(self._into(new, old))
            return Decision(
                actions=tuple(action for action, _ in merged),
                conflicts=(*conflicts, *(c for _, c in merged if c is not None)),
                split=True,
            )
        return Decision(
            actions=(self._keep(old), Rename(new, old)),
            conflicts=(*conflicts, _in_the_way(old, new)),
        )

    def _into(self, new: Path, old: Path) -> Iterator[tuple[Action, Conflict | None]]:
        """Move what is in a folder into another of that name."""
        for name in sorted(self.view.names(new)):
            source, place = new / name, old / name
            if self.view.kind(place) == "absent":
                yield Rename(source, place), None
            elif self.view.kind(place) == self.view.kind(source) == "folder":
                yield from self._into(source, place)
            else:
                yield self._keep(place), _in_the_way(place, source)
                yield Rename(source, place), None
        yield TakeFolder(new), None

    def _lost(self, old: Path, new: Path, *, certain: bool) -> Decision:
        """Nothing is where the step moved something to."""
        if self.own(old):
            return _conflict(new, "gone") if certain else Decision()
        if self.view.kind(old) != "absent" and not (certain and self.own(new)):
            return Decision()
        return _conflict(old, f"the copy kept in {new} is gone", lost=True)

    def _keep(self, path: Path) -> Rename:
        return Rename(path, path.with_name(f"{path.name}.kept-{self.areas[0].parent.name}"))

    def _made_folder(self, path: Path) -> Decision:
        if self.view.kind(path) != "folder":
            return Decision()
        names = sorted(self.view.names(path))
        cached = path / "__pycache__"
        below = self.view.names(cached) if self.view.kind(cached) == "folder" else ()
        every = (*names, *(f"__pycache__/{name}" for name in sorted(below)))
        foreign = next((name for name in every if not _compiled(name)), None)
        if foreign is not None:
            self.shared.add(path)
            return Decision(notes=(f"{path} stays: {foreign} in it is not tritonwin's",))
        return Decision(actions=(*(Discard(path / name) for name in names), TakeFolder(path)))

    def _value(self, step: SetValue) -> Decision:
        found = self.view.value(step.key, step.name)
        if found == step.old:
            return Decision()
        put = PutValue(step.key, step.name, step.old)
        if found == step.new:
            return Decision(actions=(put,))
        conflict = Conflict(place=f"{step.key}\\{step.name}", found=_said(found))
        return Decision(actions=(put,), conflicts=(conflict,))


def _conflict(path: Path, found: str, *, lost: bool = False) -> Decision:
    return Decision(conflicts=(Conflict(place=str(path), found=found, lost=lost),))


def _in_the_way(old: Path, new: Path) -> Conflict:
    return Conflict(place=str(old), found=f"something else is there; what was there is in {new}")


def _above(name: str) -> Iterator[str]:
    """The folders above a name of a listing, but for the root."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _compiled(name: str) -> bool:
    """True for a name of a listing that is bytecode, or the folder for it."""
    path = PurePath(name)
    return path.name == "__pycache__" or is_compiled(path)


def _said(value: RegistryValue | None) -> str:
    return "no value" if value is None else f"{value.kind} {value.data}"


def words(action: Action) -> str:
    """The action for people: "move A to B"."""
    match action:
        case Rename(source, destination):
            return f"move {source} to {destination}"
        case TakeFolder(path):
            return f"remove the folder {path}"
        case Discard(path):
            return f"delete the compiled files {path}"
        case PutValue(key, name, None):
            return f"remove the registry value {key}\\{name}"
        case PutValue(key, name, value):
            return f"set the registry value {key}\\{name} to {_said(value)}"
