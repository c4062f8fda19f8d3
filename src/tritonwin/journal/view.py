"""The machine as an undo sees it: as it is, or as it would be after some of its actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tritonwin.journal import tree
from tritonwin.system.registry import Registry, RegistryValue

Kind = Literal["absent", "file", "folder"]  # a link is a file: renamed, never followed


_listed: dict[str, tuple[str, dict[str, str]]] = {}  # by path, with the hash of its stamps


@dataclass
class Machine:
    """The machine as it is. Listings are kept: an undo looks at each more than once, to foresee.

    Every method may raise OSError.
    """

    registry: Registry

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
        return self.registry.stored(key, name)


@dataclass
class _Place:
    """A place as the forecast has it.

    Attributes:
        real: the place on the disk of the thing that is here; None: a new folder.
        inside: what is otherwise than in `real`, by name; None: nothing is there.
    """

    real: Path | None
    inside: dict[str, _Place | None] = field(default_factory=dict)

    def child(self, name: str) -> _Place | None:
        if name in self.inside or self.real is None:
            return self.inside.get(name)
        return _Place(self.real / name)


@dataclass
class Imagined(Machine):
    """The machine after the changes noted here."""

    _roots: dict[str, _Place | None] = field(default_factory=dict)
    _values: dict[tuple[str, str], RegistryValue | None] = field(default_factory=dict)

    def move(self, source: Path, destination: Path) -> None:
        found = self._at(source)
        self._put(source, None)
        self._put(destination, found)

    def remove(self, path: Path) -> None:
        self._put(path, None)

    def _at(self, path: Path) -> _Place | None:
        place = self._roots.get(path.anchor, _Place(Path(path.anchor)))
        for name in path.parts[1:]:
            place = place and place.child(name)
        return place

    def _put(self, path: Path, what: _Place | None) -> None:
        inside, key = self._roots, path.anchor
        place: _Place | None = _Place(Path(key))
        for name in path.parts[1:]:
            place = inside.setdefault(key, place)
            if place is None:  # a folder that was made without a change of its own
                place = inside[key] = _Place(None)
            inside, key, place = place.inside, name, place.child(name)
        inside[key] = what

    def set_value(self, key: str, name: str, value: RegistryValue | None) -> None:
        self._values[key.lower(), name.lower()] = value

    def kind(self, path: Path) -> Kind:
        place = self._at(path)
        if place is None:
            return "absent"
        return "folder" if place.real is None else super().kind(place.real)

    def listing(self, path: Path) -> dict[str, str]:
        return self._described(path, super().listing)

    def stamps(self, path: Path) -> dict[str, str]:
        return self._described(path, super().stamps)

    def _described(self, path: Path, describe: Callable[[Path], dict[str, str]]) -> dict[str, str]:
        place = self._at(path)
        if place is None:
            return {}
        if place.real is not None and not place.inside:
            return describe(place.real)
        found = {".": "folder"}
        for name in sorted(self.names(path)):
            for below, what in self._described(path / name, describe).items():
                found[name if below == "." else f"{name}/{below}"] = what
        return found

    def names(self, folder: Path) -> frozenset[str]:
        place = self._at(folder) or _Place(None)
        listed = set(place.inside) | (super().names(place.real) if place.real else set())
        return frozenset(name for name in listed if self.kind(folder / name) != "absent")

    def value(self, key: str, name: str) -> RegistryValue | None:
        found = (key.lower(), name.lower())
        return self._values[found] if found in self._values else super().value(key, name)
