"""Logs that are given to commands: a file, or a pipe that another program still writes to.

A pipe may never end. Ctrl-C ends it: the command then answers on what has come so far.
"""

from __future__ import annotations

import io
import os
import queue
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from tritonwin.cli.signals import ctrl_c_noted
from tritonwin.errors import UserError
from tritonwin.output.text import megabytes

if TYPE_CHECKING:
    from tritonwin.output.terminal import Meter

_CHUNK = 1 << 16  # bytes
_AHEAD = 16  # chunks that wait to be taken
_PAUSE = 0.1  # seconds between two checks for the end
_SILENT = 3.0  # seconds before a terminal is told that input is awaited


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
    with ctrl_c_noted() as noted, _Told() as told:
        coming = Incoming(descriptor, noted, told)
        yield cast(BinaryIO, io.BufferedReader(coming))
    if noted():
        print("ended by Ctrl-C; this is about what came before", file=sys.stderr)  # noqa: T201


class Incoming(io.RawIOBase):
    """The content of a pipe, until its end or until `enough`.

    A thread reads, because a blocked read cannot be ended on Windows, and elsewhere would lose what
    it has read.
    """

    def __init__(
        self, descriptor: int, enough: Callable[[], bool], told: Callable[[int], None]
    ) -> None:
        """Begin to read.

        Args:
            enough: called often, in two threads.
            told: called with the number of bytes so far, also when nothing comes.
        """
        self._enough, self._told = enough, told
        self._came: queue.Queue[bytes | OSError] = queue.Queue(_AHEAD)
        self._rest, self._total, self._ended = b"", 0, False
        # a duplicate: a descriptor that is being read from cannot be closed everywhere
        own = os.dup(descriptor)
        threading.Thread(target=self._read, args=(own,), daemon=True).start()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and not self._ended:
            self._take()
            self._told(self._total)
        part = self._rest[: len(buffer)]
        self._rest = self._rest[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _take(self) -> None:
        enough = self._enough()  # before the queue is read, which then holds all that came
        try:
            came = self._came.get(timeout=_PAUSE)
        except queue.Empty:
            self._ended = enough
            return
        if isinstance(came, OSError):
            raise came
        self._rest, self._ended = came, not came
        self._total += len(came)

    def _read(self, descriptor: int) -> None:
        data: bytes | OSError = b"x"
        while data and not self._enough():
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:  # a non-blocking pipe
                time.sleep(_PAUSE)
                continue
            except OSError as error:
                data = error
            self._came.put(data)
            if isinstance(data, OSError):
                break
        os.close(descriptor)


class _Told:
    """Tell a terminal that input is awaited, and how much has come."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shown: Meter | None = None

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, *ending: object) -> None:
        if self._shown:
            self._shown.end()

    def __call__(self, total: int) -> None:
        if time.monotonic() - self._begun < _SILENT or not sys.stderr.isatty():
            return
        if self._shown is None:
            self._shown = _shown()
        self._shown.update(megabytes(total, None), total, None)


def _shown() -> Meter:
    from tritonwin.output.terminal import Meter, console

    out = console(sys.stderr)
    out.print("Reading until the input ends. Ctrl-C ends it here, with an answer on what has come.")
    return Meter(out)
