"""The machine as an undo sees it: as it is, or as it would be after some of its actions."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tritonwin.journal import tree
from tritonwin.journal.registry import RegistryValue, RegistryWriter

Kind = Literal["absent", "file", "folder"]  # a link is a file: renamed, never followed
KeyState = Literal["absent", "empty", "full"]


_listed: dict[str, tuple[str, dict[str, str]]] = {}  # by path, with the hash of its stamps


@dataclass
class Machine:
    """The machine as it is. Listings are kept: an undo looks at each more than once, to foresee.

    Every method may raise OSError.
    """

    registry: RegistryWriter

    def kind(self, path: Path) -> Kind:
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        return "folder" if tree.is_folder(status) else "file"

    def listing(self, path: Path) -> dict[str, str]:
        """See `tree.listing`; empty where nothing is."""
        stamp = tree.listing_hash(self.stamps(path))
        known = _listed.get(str(path))
        if known is None or known[0] != stamp:
            known = _listed[str(path)] = (stamp, tree.listing(path))
        return known[1]

    def stamps(self, path: Path) -> dict[str, str]:
        """See `tree.stamps`; empty where nothing is."""
        return tree.stamps(path)

    def names(self, folder: Path) -> frozenset[str]:
        """The names in a folder."""
        return frozenset(child.name for child in folder.iterdir())

    def value(self, key: str, name: str) -> RegistryValue | None:
        return self.registry.value(key, name)

    def key(self, key: str) -> KeyState:
        if not self.registry.exists(key):
            return "absent"
        return "empty" if self.registry.is_empty(key) else "full"


@dataclass
class Imagined(Machine):
    """The machine after the changes noted here: asks backwards through them."""

    # places are spelled with a separator at the end; None: no such place
    _changes: list[tuple[str | None, str | None]] = field(default_factory=list)
    # the numbers of the changes that begin or end at a place, and of those inside of it
    _at: dict[str, list[int]] = field(default_factory=dict)
    _below: dict[str, list[int]] = field(default_factory=dict)
    _children: dict[str, set[str]] = field(default_factory=dict)  # names that were changed
    _values: dict[tuple[str, str], RegistryValue | None] = field(default_factory=dict)
    _removed_keys: set[str] = field(default_factory=set)

    def move(self, source: Path, destination: Path) -> None:
        self._change(source, destination)

    def make_folder(self, path: Path) -> None:
        self._change(None, path)

    def remove(self, path: Path) -> None:
        self._change(path, None)

    def _change(self, source: Path | None, destination: Path | None) -> None:
        number = len(self._changes)
        ends = [None if path is None else _inside(path) for path in (source, destination)]
        self._changes.append((ends[0], ends[1]))
        for path in filter(None, (source, destination)):
            *above, place = _prefixes(_inside(path))
            self._at.setdefault(place, []).append(number)
            self._children.setdefault(_inside(path.parent), set()).add(path.name)
            for folder in above:
                self._below.setdefault(folder, []).append(number)

    def set_value(self, key: str, name: str, value: RegistryValue | None) -> None:
        self._values[key.lower(), name.lower()] = value

    def remove_key(self, key: str) -> None:
        self._removed_keys.add(key.lower())

    def _origin(self, path: Path) -> tuple[Path | Kind, bool, list[str]]:
        """The place on the real disk of the thing at `path`, or its kind where it has none.

        And True where nothing inside of it changed on its way, and the places on that way.
        """
        place, whole, number = _inside(path), True, len(self._changes)
        way = [place]
        while True:
            before = [_last(self._at.get(above), number) for above in _prefixes(place)]
            found = max(before)
            inside = _last(self._below.get(place), number)
            whole = whole and (inside < 0 or inside < found)
            if found < 0:
                return Path(place), whole, way
            number = found
            source, destination = self._changes[number]
            if destination is not None and place.startswith(destination):
                if source is not None:
                    place = source + place[len(destination) :]
                    way.append(place)
                elif place == destination:
                    return "folder", whole, way
            else:
                return "absent", whole, way

    def kind(self, path: Path) -> Kind:
        origin, *_ = self._origin(path)
        return super().kind(origin) if isinstance(origin, Path) else origin

    def listing(self, path: Path) -> dict[str, str]:
        return self._described(path, "listing")

    def stamps(self, path: Path) -> dict[str, str]:
        return self._described(path, "stamps")

    def _described(self, path: Path, how: Literal["listing", "stamps"]) -> dict[str, str]:
        origin, whole, _ = self._origin(path)
        kind = self.kind(path)
        if isinstance(origin, Path) and (whole or kind != "folder"):
            return super().listing(origin) if how == "listing" else super().stamps(origin)
        if kind == "absent":
            return {}
        found = {".": "folder"}
        for name in sorted(self.names(path)):
            for below, what in self._described(path / name, how).items():
                found[name if below == "." else f"{name}/{below}"] = what
        return found

    def names(self, folder: Path) -> frozenset[str]:
        origin, _, way = self._origin(folder)
        listed = {name for place in way for name in self._children.get(place, ())}
        if isinstance(origin, Path):
            listed |= super().names(origin)
        return frozenset(name for name in listed if self.kind(folder / name) != "absent")

    def value(self, key: str, name: str) -> RegistryValue | None:
        found = (key.lower(), name.lower())
        return self._values[found] if found in self._values else super().value(key, name)

    def key(self, key: str) -> KeyState:
        if key.lower() in self._removed_keys:
            return "absent"
        found = super().key(key)
        inside = [value for (k, _), value in self._values.items() if k == key.lower()]
        below = [k for k in self._removed_keys if k.rpartition("\\")[0] == key.lower()]
        # what was taken out of it may have been all that was in it
        return "empty" if found == "full" and (inside or below) and not any(inside) else found


def _inside(path: Path) -> str:
    return f"{path}{os.sep}"


def _prefixes(place: str) -> list[str]:
    """The places above one, and itself at the end."""
    ends = (end for end, character in enumerate(place, 1) if character == os.sep)
    return [place[:end] for end in ends]


def _last(numbers: Sequence[int] | None, before: int) -> int:
    """The last of ascending numbers below a bound; -1: there is none."""
    return numbers[at - 1] if numbers and (at := bisect_left(numbers, before)) else -1
