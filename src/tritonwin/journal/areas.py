"""Where a journal keeps things: a rename does not lead to another volume, so there is one each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tritonwin.system.access import can_write, nearest_existing


@dataclass
class Areas:
    """The folders of one journal.

    Attributes:
        own: the one beside its log, where only the user may read.
        home: the folder of python.exe, where one at the target is best made: programs list and
            copy site-packages, but not this folder.
        name: of an area at the target.
        make: records and makes such an area.
    """

    own: Path
    home: Path
    name: str
    make: Callable[[Path], None]
    _others: dict[int, Path] = field(default_factory=dict)  # by the number of the device

    def kept(self, near: Path) -> Path:
        """A folder on the volume of `near` for what is moved away from there."""
        same = device(near.parent) == device(self.own)
        return _provided((self.own if same else self._at_target(near)) / "kept")

    def staged(self, near: Path) -> Path:
        """A folder on the volume of `near` for what is to be moved there.

        At the target, since a file that is renamed on Windows keeps the access rights that it got
        from the folder in which it was made: from the user's own folder nobody else could read.
        """
        return _provided(self._at_target(near) / "staged")

    def _at_target(self, near: Path) -> Path:
        number = device(near.parent)
        if number not in self._others:
            suits = self.home.is_dir() and device(self.home) == number and can_write(self.home)
            place = self.home if suits else nearest_existing(near.parent) or near.parent
            self.make(place / self.name)
            self._others[number] = place / self.name
        return self._others[number]


def area_name(identifier: str) -> str:
    """What a journal calls its area at a target."""
    return f".tritonwin-{identifier}"


def device(path: Path) -> int:
    """The number of the volume that the path is or would be on. Raises OSError."""
    return (nearest_existing(path) or path).stat().st_dev


def same_volume(one: Path, other: Path) -> bool:
    """Whether a rename leads from one to the other; not where a drive is not there any more."""
    try:
        return device(one) == device(other)
    except OSError:
        return False


def _provided(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
