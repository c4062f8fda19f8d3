"""The output of ninja while it works, and its own log."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tritonwin.system.files import is_file

STATUS = "[%f/%t] "  # NINJA_STATUS, whatever the user's own says
LOG = ".ninja_log"
# pip indents what a build prints
_STEP = re.compile(r" {0,4}\[(\d{1,7})/(\d{1,7})\] ")
_FAILED = re.compile(r" {0,4}FAILED: ")
_MILLISECONDS = re.compile(r"[0-9]{1,12}")
_FIELDS = 5  # start, end (ms), modification time, output, hash of the command


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


def read_log(text: str) -> tuple[str, ...]:
    """The outputs in a `.ninja_log` of version 5 to 7, each once; other lines are skipped.

    ninja itself takes a step for finished if, and only if, it stands here.
    """
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(
        dict.fromkeys(
            fields[3]
            for fields in rows
            if len(fields) == _FIELDS and all(map(_MILLISECONDS.fullmatch, fields[:2]))
        )
    )


def finished(folder: Path) -> tuple[Path, ...]:
    """Every output below a folder that ninja has finished and that is still there."""
    return tuple(
        log.parent / output
        for log in sorted(folder.rglob(LOG))
        if is_file(log)
        for output in read_log(log.read_text("utf-8", "replace"))
        if is_file(log.parent / output)
    )


def remove_damaged(outputs: Iterable[Path]) -> tuple[Path, ...]:
    """Remove outputs that are empty or begin with zeros, so that ninja makes them again.

    ninja's word that it finished one can reach the disk before the file does: a machine that loses
    its power then leaves such a file, which looks finished.
    """
    damaged = []
    for path in outputs:
        with path.open("rb") as stream:
            head = stream.read(64)
        if not head.strip(b"\0"):
            path.unlink(missing_ok=True)
            damaged.append(path)
    return tuple(damaged)
