"""What an undo looks at: the machine as it is, or as it would be after some of its actions."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from tritonwin.journal.registry import RegistryValue, RegistryWriter
from tritonwin.journal.tree import file_hash

Kind = Literal["absent", "file", "folder"]  # a link is a file: renamed, never followed


class View(Protocol):
    """Every method may raise OSError."""

    def kind(self, path: Path) -> Kind: ...

    def sha256(self, path: Path) -> str:
        """Of the content of a file; of a link, what it names."""
        ...

    def names(self, folder: Path) -> frozenset[str]:
        """What is in a folder."""
        ...

    def value(self, key: str, name: str) -> RegistryValue | None: ...

    def key(self, key: str) -> Literal["absent", "empty", "full"]: ...


@dataclass(frozen=True)
class Machine:
    """As it is."""

    registry: RegistryWriter

    def kind(self, path: Path) -> Kind:
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return "absent"
        return "folder" if stat.S_ISDIR(status.st_mode) else "file"

    def sha256(self, path: Path) -> str:
        return str(path.readlink()) if path.is_symlink() else file_hash(path)

    def names(self, folder: Path) -> frozenset[str]:
        return frozenset(child.name for child in folder.iterdir())

    def value(self, key: str, name: str) -> RegistryValue | None:
        return self.registry.value(key, name)

    def key(self, key: str) -> Literal["absent", "empty", "full"]:
        if not self.registry.exists(key):
            return "absent"
        return "empty" if self.registry.is_empty(key) else "full"


@dataclass
class Imagined:
    """As it would be, had the changes noted here been made: asks backwards through them."""

    real: View
    # spelled with a separator at the end, so that "inside" is "starts with"; None: no such place
    _changes: list[tuple[str | None, str | None]] = field(default_factory=list)
    _values: dict[tuple[str, str], RegistryValue | None] = field(default_factory=dict)
    _removed_keys: set[str] = field(default_factory=set)

    def move(self, source: Path, destination: Path) -> None:
        self._changes.append((_inside(source), _inside(destination)))

    def make_folder(self, path: Path) -> None:
        self._changes.append((None, _inside(path)))

    def remove(self, path: Path) -> None:
        self._changes.append((_inside(path), None))

    def set_value(self, key: str, name: str, value: RegistryValue | None) -> None:
        self._values[key.lower(), name.lower()] = value

    def remove_key(self, key: str) -> None:
        self._removed_keys.add(key.lower())

    def _origin(self, path: Path) -> Path | Kind:
        """Where on the real disk the thing at `path` lies, or its kind where it lies nowhere."""
        place = _inside(path)
        for source, destination in reversed(self._changes):
            if destination is not None and place.startswith(destination):
                if source is not None:
                    place = source + place[len(destination) :]
                elif place == destination:
                    return "folder"
            elif source is not None and place.startswith(source):
                return "absent"
        return Path(place)

    def kind(self, path: Path) -> Kind:
        origin = self._origin(path)
        return self.real.kind(origin) if isinstance(origin, Path) else origin

    def sha256(self, path: Path) -> str:
        origin = self._origin(path)
        return self.real.sha256(origin) if isinstance(origin, Path) else ""

    def names(self, folder: Path) -> frozenset[str]:
        origin = self._origin(folder)
        listed: set[str] = set()
        if isinstance(origin, Path):
            listed |= self.real.names(origin)
        listed |= {Path(p).name for change in self._changes for p in change if p is not None}
        return frozenset(name for name in listed if self.kind(folder / name) != "absent")

    def value(self, key: str, name: str) -> RegistryValue | None:
        found = (key.lower(), name.lower())
        return self._values[found] if found in self._values else self.real.value(key, name)

    def key(self, key: str) -> Literal["absent", "empty", "full"]:
        if key.lower() in self._removed_keys:
            return "absent"
        found = self.real.key(key)
        inside = [value for (k, _), value in self._values.items() if k == key.lower()]
        below = [k for k in self._removed_keys if k.rpartition("\\")[0] == key.lower()]
        # what was taken out of it may have been all that was in it
        return "empty" if found == "full" and (inside or below) and not any(inside) else found


def _inside(path: Path) -> str:
    return f"{path}{os.sep}"
