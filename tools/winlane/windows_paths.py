"""Windows spellings of Linux paths and back, without asking Wine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from winlane.errors import LaneError


@dataclass(frozen=True)
class Drives:
    """C: is the prefix, Z: is the whole Linux file system."""

    drive_c: Path

    def windows(self, path: Path) -> str:
        absolute = path.absolute()
        if absolute == self.drive_c:
            return "C:\\"
        if absolute.is_relative_to(self.drive_c):
            return "C:\\" + str(absolute.relative_to(self.drive_c)).replace("/", "\\")
        return "Z:" + str(absolute).replace("/", "\\")

    def linux(self, windows_path: str) -> Path:
        """Names match whatever their case, as on Windows; what is not there keeps its own."""
        drive, rest = windows_path[:2].upper(), windows_path[2:].replace("\\", "/")
        if drive not in ("C:", "Z:") or not rest.startswith("/"):
            raise LaneError(
                f"not an absolute path on C: or Z:, the lane's drives: {windows_path!r}"
            )
        place = self.drive_c if drive == "C:" else Path("/")
        for name in filter(None, rest.split("/")):
            place /= _as_it_is_spelled(place, name)
        return place


def _as_it_is_spelled(folder: Path, name: str) -> str:
    if not (folder / name).exists() and folder.is_dir():
        for there in folder.iterdir():
            if there.name.casefold() == name.casefold():
                return there.name
    return name
