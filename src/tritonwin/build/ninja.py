"""The output of ninja while it works, and its own log."""

from __future__ import annotations

import re
import shlex
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from tritonwin.system.files import file_size, is_file
from tritonwin.system.host import Host

STATUS = "[%f/%t] "  # NINJA_STATUS, whatever the user's own says
LOG = ".ninja_log"
# pip indents what a build prints
_STEP = re.compile(r" {0,4}\[(\d{1,7})/(\d{1,7})\] ")
_FAILED = re.compile(r" {0,4}FAILED: ")
_MILLISECONDS = re.compile(r"[0-9]{1,12}")
_FIELDS = 5  # start, end (ms), modification time, output, hash of the command


@dataclass(frozen=True, kw_only=True)
class Edge:
    """When a finished step ran, in seconds since its ninja began."""

    start: float
    end: float


@dataclass
class Counter:
    """Steps done and to do, over all runs of ninja that a build has.

    ninja counts only what it still has to do, and starts at zero for every extension.

    Attributes:
        before: steps that earlier runs of the build have finished.
        planned: steps in all, where the recipe knows.
    """

    before: int = 0
    planned: int | None = None
    _ended: int = 0  # steps of ninjas that have ended
    _step: int = 0
    _of: int = 0
    _failures: int = 0

    def feed(self, line: str) -> None:
        """Take in a line of the build's output."""
        if step := _STEP.match(line):
            number, of = int(step[1]), int(step[2])
            if number <= self._step or of != self._of:
                self._ended += self._step
            self._step, self._of = number, of
        elif _FAILED.match(line):
            self._failures += 1

    @property
    def done(self) -> int:
        return self.before + self.done_now

    @property
    def done_now(self) -> int:
        """Steps that this run has finished. ninja counts those that failed as well."""
        return max(0, self._ended + self._step - self._failures)

    @property
    def total(self) -> int | None:
        """Steps of all runs; None before anybody has said how many there are."""
        if self._of:
            return max(self.planned or 0, self.before + self._ended + self._of)
        return self.planned


def logs(folder: Path) -> tuple[Path, ...]:
    """ninja's own logs, one for each folder that it built in."""
    return tuple(sorted(path for path in folder.rglob(LOG) if is_file(path)))


def read_log(text: str) -> dict[str, Edge]:
    """The steps of a `.ninja_log` of version 5 to 7, the last run of each; other lines are skipped.

    ninja itself takes a step for finished if, and only if, it stands here.
    """
    edges: dict[str, Edge] = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != _FIELDS or not all(map(_MILLISECONDS.fullmatch, fields[:2])):
            continue
        start, end = int(fields[0]) / 1000, int(fields[1]) / 1000
        edges[fields[3]] = Edge(start=start, end=end)
    return edges


def finished(folder: Path) -> dict[Path, Edge]:
    """Every step below a folder that ninja has finished and whose file is still there."""
    return {path: edge for log in logs(folder) for path, edge in _edges(log) if is_file(path)}


def _edges(log: Path) -> Iterator[tuple[Path, Edge]]:
    for output, edge in read_log(log.read_text("utf-8", "replace")).items():
        yield log.parent / output, edge


def remove_damaged(objects: Iterable[Path]) -> tuple[Path, ...]:
    """Remove objects that are cut short, so that ninja makes them again; those that were.

    ninja's word that it finished one can reach the disk before the object does: a machine that
    loses its power then leaves an empty file which looks finished.
    """
    damaged = tuple(path for path in objects if not is_whole(path))
    for path in damaged:
        path.unlink(missing_ok=True)
    return damaged


def is_whole(path: Path) -> bool:
    """True if an object file is as long as its header says, and for any other file."""
    size = file_size(path)
    if path.suffix not in {".o", ".obj"} or size is None:
        return True
    with path.open("rb") as stream:
        head = stream.read(64)
    if head[:4] == b"\x7fELF" and len(head) == 64:
        (sections,) = struct.unpack_from("<Q", head, 40)
        entry, count = struct.unpack_from("<HH", head, 58)
        return bool(size >= sections + entry * count)
    if head[:4] == b"\0\0\xff\xff":  # a COFF object with more than 65,279 sections
        return len(head) >= 56
    if len(head) >= 20:
        symbols, count = struct.unpack_from("<II", head, 8)
        return bool(size >= symbols + 18 * count)
    return False


def start_first(
    words: Sequence[str], folder: Path, scripts: Iterable[str], host: Host
) -> tuple[Path, ...]:
    """A folder for the head of PATH, by which ninja starts the files of these names first.

    A program called ninja that calls the real one: see heavy_first.py. On Windows only an .exe
    would be found under that name; there ninja keeps its own order, as it does without words.
    """
    found = [path for f in scripts if is_file(path := Path(f, "ninja"))] or host.executables(
        "ninja"
    )
    if host.windows or not words or not found:
        return ()
    folder.mkdir(exist_ok=True)
    program = folder / "heavy_first.py"
    program.write_bytes(files("tritonwin.build").joinpath(program.name).read_bytes())
    command = [sys.executable, "-I", "-S", str(program), str(found[0]), *words, "--"]
    (folder / "ninja").write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    (folder / "ninja").chmod(0o755)
    return (folder,)
