"""Records of a choice of wheels, light to import for output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

InstallStatus = Literal[
    "planned",
    "nothing-fits",  # no wheel for at least one request, so nothing was installed
    "unread",  # the same, and a place that may have one could not be read
    "nothing-to-do",
    "declined",
    "installed",
    "import-failed",  # installed, but the proof failed
]


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """A wheel that was not taken, with all reasons against it."""

    file: str
    location: str
    source: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WheelChoice:
    """The wheel for one request; `version` and `file` are None where none fits.

    Attributes:
        package: normalised.
        request: as it was asked for.
        trust: why its place is asked, where that is a public list.
        installed: this version is there already.
        unread: a place that may have other wheels could not be read, and no list of it was kept.
    """

    package: str
    request: str
    version: str | None = None
    file: str | None = None
    location: str | None = None
    source: str | None = None
    sha256: str | None = None
    size: int | None = None
    trust: str | None = None
    installed: bool = False
    unread: bool = False
    rejected: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()

    def grouped(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Reasons with the files that were rejected for them, the nearest misses first."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for rejection in self.rejected:
            groups.setdefault(rejection.reasons, []).append(rejection.file)
        nearest = sorted(groups.items(), key=lambda item: (len(item[0]), -len(item[1])))
        return tuple(("; ".join(reasons), tuple(files)) for reasons, files in nearest)

    def in_short(self) -> tuple[str, ...]:
        """The main reasons against the other wheels, in a few sentences."""
        return tuple(
            f"{files[0]}: {reason}" + (f" (and {len(files) - 1} more)" if len(files) > 1 else "")
            for reason, files in self.grouped()[:3]
        )


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A file or folder that something is taken from: one content, named by its hash.

    `location` is an absolute path, an https address without secrets, or the mere name of a file
    that the index has which pip is configured for; `sha256` is set for everything fetched.
    """

    name: str  # "triton-windows", "headers"
    version: str = ""
    location: str
    sha256: str | None = None
    size: int | None = None  # bytes, where the source says it

    @property
    def file(self) -> str:
        return re.split(r"[/\\]", self.location)[-1]
