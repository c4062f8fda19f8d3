"""`steps.jsonl`: one line a step, on the disk before the step is done, never rewritten.

Each line ends with a check, a hash over all lines up to it, and the first one names the journal.
So a list is either whole, but for a last line that was never acted on, or known not to be.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from tritonwin.journal.disk import JournalError, content, refusal, store, sync_folder
from tritonwin.journal.faults import faultpoint
from tritonwin.journal.records import Entry, Mark, Start, Step
from tritonwin.system.codec import from_json, parse, to_json

# Given up when the disk is full, so that an undo can always write down how far it came.
RESERVE = "reserve"
_RESERVE_BYTES = 256 * 1024
_CHECK = b', "check": "'
_ENTRY = cast("type[Entry]", Entry)


class DamagedLogError(JournalError):
    """A list of steps that is not whole: what was changed is not known."""


@dataclass
class Log:
    """The steps of one journal, and what became of them.

    Attributes:
        lines: how many there are, the first one included.
        check: of the last line.
    """

    path: Path
    steps: list[Step] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    split: set[int] = field(default_factory=set)
    lines: int = 0
    check: str = ""

    @classmethod
    def create(cls, path: Path, identifier: str) -> Log:
        """A new log beside its reserve. Raises OSError."""
        log = cls(path)
        first = log._line(Start(id=identifier))
        store(path.with_name(RESERVE), bytes(_RESERVE_BYTES))
        store(path, first)
        sync_folder(path.parent)
        log._take(Start(id=identifier), first)
        return log

    @classmethod
    def read(cls, path: Path, identifier: str, lines: int = 1, check: str = "") -> Log:
        """The log as a crash may have left it: a last line that is cut short was never acted on.

        Args:
            lines, check: as the header says.

        Raises:
            DamagedLogError: a line is missing, or is not as it was written.
        """
        log = cls(path)
        try:
            whole = content(path)
        except FileNotFoundError:
            whole = b""
        except OSError as error:
            raise refusal(path, error) from error
        for line in whole.split(b"\n")[:-1]:
            number = log.lines + 1
            try:
                data = line.rpartition(_CHECK)[0] + b"}"
                entry = from_json(_ENTRY, parse(data.decode("ascii")), "line")
            except ValueError as error:
                raise _damaged(path, f"line {number} is damaged: {error}") from error
            foreign = isinstance(entry, Start) != (number == 1)
            if log._checked(data) != line + b"\n" or foreign:
                raise _damaged(path, f"line {number} is damaged: it is not as it was written")
            if isinstance(entry, Start) and entry.id != identifier:
                raise _damaged(path, f"it belongs to another journal, {entry.id}")
            log._take(entry, line + b"\n")
            if log.lines == lines and check and log.check != check:
                raise _damaged(path, "it is not the list that the journal was finished with")
        if log.lines < lines:
            raise _damaged(path, f"{lines - log.lines} lines are missing")
        return log

    def next_number(self) -> int:
        return len(self.steps) + 1

    def append(self, entry: Step | Mark) -> None:
        """Write one line and see it safely on the disk. Raises JournalError."""
        data = self._line(entry)
        faultpoint(f"before log {entry.op}")
        try:
            self._write(data)
        except OSError as error:
            reserve = self.path.with_name(RESERVE)
            if not isinstance(entry, Mark) or not reserve.exists():
                raise refusal(self.path, error) from error
            with contextlib.suppress(OSError):
                reserve.unlink()
            try:
                self._write(data)
            except OSError as again:
                raise refusal(self.path, again) from again
        faultpoint(f"after log {entry.op}")
        self._take(entry, data)

    def _line(self, entry: Entry) -> bytes:
        return self._checked(json.dumps(to_json(entry), ensure_ascii=True).encode("ascii"))

    def _checked(self, data: bytes) -> bytes:
        """The next line: an object in JSON with its check. Fields may be added to it later."""
        check = hashlib.sha256(self.check.encode("ascii") + data).hexdigest()[:32]
        return data[:-1] + _CHECK + check.encode("ascii") + b'"}\n'

    def _write(self, data: bytes) -> None:
        with self.path.open("r+b") as file:
            whole = _end_of_whole_lines(file)
            file.seek(whole)
            file.truncate()  # what a crash or a full disk left of a line
            try:
                file.write(data[: len(data) // 2])
                file.flush()
                faultpoint("in the middle of a log line")
                file.write(data[len(data) // 2 :])
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    file.truncate(whole)
                raise

    def _take(self, entry: Entry, line: bytes) -> None:
        self.lines += 1
        self.check = line.rpartition(_CHECK)[2][:32].decode("ascii")
        if isinstance(entry, Mark):
            marked = {"failed": self.failed, "undone": self.undone, "split": self.split}
            marked[entry.state].add(entry.n)
        elif not isinstance(entry, Start):
            self.steps.append(entry)


def _damaged(path: Path, why: str) -> DamagedLogError:
    return DamagedLogError(
        f"{path}: {why}",
        f"Restore that file from a backup. What was replaced is kept in {path.parent}; to give it "
        f"up: tritonwin undo --forget {path.parent.name}",
    )


def _end_of_whole_lines(file: BinaryIO) -> int:
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
    if not end or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1
