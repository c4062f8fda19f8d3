"""How one step is taken back: a look at the machine, and the actions that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tritonwin.journal.model import Area, MakeFolder, MakeKey, Move, RemoveFolder, SetValue, Step
from tritonwin.journal.registry import RegistryValue
from tritonwin.journal.view import View


@dataclass(frozen=True)
class Rename:
    source: Path
    destination: Path


@dataclass(frozen=True)
class PutFolder:
    path: Path
    mode: int


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


@dataclass(frozen=True)
class TakeKey:
    key: str


@dataclass(frozen=True)
class Merge:
    """Move what is in a folder into another of the same names, which was begun already."""

    source: Path
    destination: Path


Action: TypeAlias = Rename | Merge | PutFolder | TakeFolder | Discard | PutValue | TakeKey


@dataclass(frozen=True, kw_only=True)
class Conflict:
    """A place that is neither as the journal left it nor as it was before."""

    place: str
    left: str  # how the journal left it
    found: str  # how it is now
    before: str  # how it was before, and would be after the undo


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do about one step. With a conflict, `actions` are what force would do."""

    actions: tuple[Action, ...] = ()
    conflict: Conflict | None = None
    note: str | None = None


@dataclass(frozen=True)
class Backwards:
    """Takes steps back one at a time, the newest first.

    Attributes:
        areas: the journal's own folders.
        elsewhere: for an area, the one that things are moved back to in its place.
        suffix: what a file is given to its name that is in the way and has to be kept.
    """

    view: View
    areas: tuple[Path, ...]
    elsewhere: Mapping[Path, Path]
    suffix: str

    def decide(self, step: Step, *, certain: bool, split: bool = False) -> Decision:
        """What takes the step back; nothing where it was not done or is taken back already.

        `certain` says that the step was done and not yet taken back, `split` that a folder was
        being moved back file by file.
        """
        if isinstance(step, Move):
            old, new = self._back(Path(step.source)), Path(step.destination)
            if split and self.view.kind(new) == "folder":
                return Decision(actions=(Merge(new, old),))
            return self._move(old, new, step.sha256, certain=certain)
        if isinstance(step, (MakeFolder, RemoveFolder, Area)) and self._own(Path(step.path)):
            return Decision()  # all areas go when everything is undone
        if isinstance(step, MakeFolder):
            return self._made_folder(Path(step.path))
        if isinstance(step, RemoveFolder):
            return self._removed_folder(Path(step.path), step.mode)
        if isinstance(step, MakeKey):
            return self._made_key(step.key)
        if isinstance(step, SetValue):
            return self._value(step)
        raise TypeError(f"no such step: {step}")

    def _own(self, path: Path) -> bool:
        return any(path.is_relative_to(area) for area in self.areas)

    def _back(self, path: Path) -> Path:
        """Where something is moved back to that was at `path`."""
        for area, other in self.elsewhere.items():
            if path.is_relative_to(area):
                return other / path.relative_to(area)
        return path

    def _move(self, old: Path, new: Path, sha256: str | None, *, certain: bool) -> Decision:
        back = Rename(new, old)
        if self.view.kind(new) == "absent":
            return self._lost(old, new, certain=certain)
        if self._homeless(old):
            return _no_place(old, left="moved away", before=f"what is now in {new}")
        if self.view.kind(old) != "absent":
            conflict = Conflict(
                place=str(old),
                left="moved away",
                found="something else is there",
                before=f"what is now in {new}",
            )
            return Decision(actions=(self._keep(old), back), conflict=conflict)
        if sha256 is not None and self._content(new) != sha256:
            conflict = Conflict(
                place=str(new),
                left="written by tritonwin",
                found="changed since",
                before="replaced by what was there before, or nothing",
            )
            return Decision(actions=(self._keep(new),), conflict=conflict)
        return Decision(actions=(back,))

    def _lost(self, old: Path, new: Path, *, certain: bool) -> Decision:
        """Nothing is where the step moved something to."""
        if self._own(old):
            if not certain:
                return Decision()
            conflict = Conflict(
                place=str(new),
                left="put there by tritonwin",
                found="gone",
                before="replaced by what was there before, or nothing",
            )
            return Decision(conflict=conflict)
        if self.view.kind(old) != "absent" and not (certain and self._own(new)):
            return Decision()
        conflict = Conflict(
            place=str(old),
            left=f"moved to {new}",
            found="the copy kept there is gone",
            before="there",
        )
        return Decision(conflict=conflict)

    def _homeless(self, path: Path) -> bool:
        """Whether the folder of something is gone: uninstalled since, or the whole target is."""
        return not self._own(path) and self.view.kind(path.parent) == "absent"

    def _content(self, path: Path) -> str | None:
        return self.view.sha256(path) if self.view.kind(path) == "file" else None

    def _keep(self, path: Path) -> Rename:
        return Rename(path, path.with_name(path.name + self.suffix))

    def _made_folder(self, path: Path) -> Decision:
        if self.view.kind(path) != "folder":
            return Decision()
        names = sorted(self.view.names(path))
        foreign = [name for name in names if not _compiled(name)]
        if foreign:
            return Decision(note=f"{path} stays: {foreign[0]} in it is not tritonwin's")
        return Decision(actions=(*(Discard(path / name) for name in names), TakeFolder(path)))

    def _removed_folder(self, path: Path, mode: int) -> Decision:
        put = PutFolder(path, mode)
        match self.view.kind(path):
            case "folder":
                return Decision()
            case "absent" if self._homeless(path):
                return _no_place(path, left="removed", before="a folder")
            case "absent":
                return Decision(actions=(put,))
        conflict = Conflict(
            place=str(path), left="removed", found="a file is there", before="a folder"
        )
        return Decision(actions=(self._keep(path), put), conflict=conflict)

    def _made_key(self, key: str) -> Decision:
        match self.view.key(key):
            case "absent":
                return Decision()
            case "empty":
                return Decision(actions=(TakeKey(key),))
        return Decision(note=f"{key} stays: there are values in it that are not tritonwin's")

    def _value(self, step: SetValue) -> Decision:
        found = self.view.value(step.key, step.name)
        if found == step.old:
            return Decision()
        put = PutValue(step.key, step.name, step.old)
        if found == step.new:
            return Decision(actions=(put,))
        conflict = Conflict(
            place=f"{step.key}\\{step.name}",
            left=_said(step.new),
            found=_said(found),
            before=_said(step.old),
        )
        return Decision(actions=(put,), conflict=conflict)


def _no_place(path: Path, *, left: str, before: str) -> Decision:
    """Stays gone also with force: a folder made anew would hold a part of what belongs there."""
    found = f"the folder {path.parent} is gone"
    return Decision(conflict=Conflict(place=str(path), left=left, found=found, before=before))


def _compiled(name: str) -> bool:
    return name == "__pycache__" or name.endswith(".pyc")


def _said(value: RegistryValue | None) -> str:
    return "no value" if value is None else f"{value.kind} {value.data}"


def words(action: Action) -> str:
    """The action for people: "move A to B"."""
    match action:
        case Rename(source, destination) | Merge(source, destination):
            return f"move {source} to {destination}"
        case PutFolder(path):
            return f"make the folder {path}"
        case TakeFolder(path):
            return f"remove the folder {path}"
        case Discard(path):
            return f"delete the compiled files {path}"
        case PutValue(key, name, None):
            return f"remove the registry value {key}\\{name}"
        case PutValue(key, name, value):
            return f"set the registry value {key}\\{name} to {_said(value)}"
        case TakeKey(key):
            return f"remove the registry key {key}"
