"""Logs that are given to commands: a file, or a pipe that another program still writes to.

A pipe may never end. Ctrl-C ends it: the command then answers on what has come so far.
"""

from __future__ import annotations

import io
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tritonwin.cli.signals import ctrl_c_noted
from tritonwin.errors import UserError

_PAUSE = 0.1  # seconds between two checks for the end
_SILENT = 3.0  # seconds before a terminal is told that input is awaited
_WAITING = "Reading until the input ends. Ctrl-C ends it here, with an answer on what has come."


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The content of a log.

    Raises:
        UserError: it cannot be read, or is a device, which need not have an end.
    """
    try:
        if os.name != "nt":  # stat opens a named pipe of Windows, and its other end notices
            _refuse_device(path, path.stat().st_mode)  # opening a device may trigger something
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            _refuse_device(path, mode)
            if stat.S_ISFIFO(mode):
                with _incoming(stream.fileno()) as coming:
                    yield coming
            else:
                yield stream
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}",
            "Give the name of a text file, or - for standard input.",
        ) from None


@contextmanager
def piped_in() -> Iterator[BinaryIO]:
    """The content of standard input, which is not a terminal.

    Raises:
        UserError: it cannot be read.
    """
    stream = sys.stdin.buffer
    try:
        try:
            descriptor = stream.fileno()
        except io.UnsupportedOperation:
            yield stream
            return
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            yield stream
        else:
            with _incoming(descriptor) as coming:
                yield coming
    except OSError as error:
        raise UserError(
            f"cannot read standard input: {error.strerror or error}",
            "Give the name of a text file.",
        ) from None


def _refuse_device(path: Path, mode: int) -> None:
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise UserError(
            f"{path} is a device, not a log",
            "Give the name of a text file. To type or pipe the text in: tritonwin explain -",
        )


@contextmanager
def _incoming(descriptor: int) -> Iterator[BinaryIO]:
    with ctrl_c_noted() as noted:
        yield cast(BinaryIO, io.BufferedReader(Incoming(descriptor, noted)))
    if noted():
        print("ended by Ctrl-C; this is about what came before", file=sys.stderr)  # noqa: T201


class Incoming(io.RawIOBase):
    """The content of a pipe, until its end or until `enough`, which is asked often.

    On Windows a read waits for more, or for the end of the program that writes: Ctrl-C reaches that
    as well.
    """

    def __init__(self, descriptor: int, enough: Callable[[], bool]) -> None:
        self._descriptor, self._enough = descriptor, enough
        self._begun: float | None = time.monotonic()  # None: whoever waits was told

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._enough():
            self._tell()
            if os.name != "nt" and not select.select([self._descriptor], [], [], _PAUSE)[0]:
                continue
            data = os.read(self._descriptor, len(buffer))
            buffer[: len(data)] = data
            return len(data)
        return 0

    def _tell(self) -> None:
        """Say on a terminal that input is awaited, once."""
        if self._begun and time.monotonic() - self._begun >= _SILENT and sys.stderr.isatty():
            self._begun = None
            print(_WAITING, file=sys.stderr)  # noqa: T201
