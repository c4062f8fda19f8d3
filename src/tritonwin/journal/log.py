"""`steps.jsonl`: one line a step, on the disk before the step is done, never rewritten."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tritonwin.journal.disk import sync_folder
from tritonwin.journal.faults import faultpoint
from tritonwin.journal.model import Line, Mark, Step
from tritonwin.journal.refusal import JournalError, refusal
from tritonwin.system.codec import from_json, parse, to_json

# Given up when the disk is full, so that an undo can always write down how far it came.
RESERVE = "reserve"
_RESERVE_BYTES = 256 * 1024


@dataclass
class Log:
    """The steps of one journal, and what became of them."""

    path: Path
    steps: list[Step] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)
    undone: set[int] = field(default_factory=set)
    split: set[int] = field(default_factory=set)

    @classmethod
    def create(cls, path: Path) -> Log:
        """A new log beside its reserve. Raises OSError."""
        for file, data in ((path.with_name(RESERVE), bytes(_RESERVE_BYTES)), (path, b"")):
            with file.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
        sync_folder(path.parent)
        return cls(path)

    @classmethod
    def read(cls, path: Path) -> Log:
        """The log as a crash may have left it: a last line that is cut short was never acted on.

        Raises:
            JournalError: a line before the last makes no sense.
        """
        log = cls(path)
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # the crash came before the first step
            return log
        except OSError as error:
            raise refusal(path, error) from error
        number = 0
        try:
            for line in content.split(b"\n")[:-1]:
                number += 1
                log._take(from_json(Line, {"entry": parse(line.decode("ascii"))}).entry)
        except ValueError as error:
            raise JournalError(
                f"{path}, line {number} is damaged: {error}",
                "Restore that file from a backup, or ask for help.",
            ) from error
        return log

    @property
    def uncertain(self) -> int | None:
        """The number of the step that may or may not have been done: the last one."""
        if not self.steps or self.undone:
            return None
        return self.steps[-1].n

    def next_number(self) -> int:
        return len(self.steps) + 1

    def append(self, entry: Step | Mark) -> None:
        """Write one line and see it safely on the disk. Raises JournalError."""
        data = json.dumps(to_json(entry), ensure_ascii=True).encode("ascii") + b"\n"
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
        self._take(entry)

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

    def _take(self, entry: Step | Mark) -> None:
        if not isinstance(entry, Mark):
            self.steps.append(entry)
        else:
            marked = {"failed": self.failed, "undone": self.undone, "split": self.split}
            marked[entry.state].add(entry.n)


def _end_of_whole_lines(file: BinaryIO) -> int:
    end = file.seek(0, os.SEEK_END)
    if end:
        file.seek(end - 1)
    if not end or file.read(1) == b"\n":
        return end
    file.seek(0)
    return file.read().rfind(b"\n") + 1
