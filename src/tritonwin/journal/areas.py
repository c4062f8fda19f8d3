"""Where a journal keeps things: a rename does not lead to another volume, so there is one each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tritonwin.facts.access import can_write, nearest_existing


@dataclass
class Areas:
    """The folders of one journal.

    Attributes:
        own: the one beside its log.
        home: the target's folder, where one for another volume is best made: programs list and
            copy site-packages, but not the folder of python.exe.
        name: of an area on another volume.
        make: records and makes such an area.
    """

    own: Path
    home: Path
    name: str
    make: Callable[[Path], None]
    _others: dict[int, Path] = field(default_factory=dict)  # by the number of the device

    def folder(self, near: Path, name: str) -> Path:
        """A folder of that name in the area on the volume of `near`, made where there is none."""
        folder = self._area(near) / name
        folder.mkdir(exist_ok=True)
        return folder

    def _area(self, near: Path) -> Path:
        place = nearest_existing(near.parent) or near.parent
        device = place.stat().st_dev
        if device == self.own.stat().st_dev:
            return self.own
        if device not in self._others:
            suits = self.home.is_dir() and self.home.stat().st_dev == device
            area = (self.home if suits and can_write(self.home) else place) / self.name
            self.make(area)
            self._others[device] = area
        return self._others[device]
