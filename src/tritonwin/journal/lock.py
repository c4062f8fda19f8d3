"""One tritonwin at a time on one target. The system drops the lock of a process that dies."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts import winapi
from tritonwin.journal.refusal import refusal

_PAUSE = 0.2  # seconds between two tries


class TargetBusyError(UserError):
    """Another tritonwin is at work on the same target."""


if sys.platform == "win32":
    import msvcrt

    _GENERIC_READ_WRITE = 0xC0000000
    _SHARE_READ = 1
    _OPEN_ALWAYS = 4
    _SHARING_VIOLATION = 32

    def _try_lock(path: Path) -> int | None:
        """A descriptor of the file that nobody else may open for writing; None if held."""
        try:
            # not msvcrt.locking: a share mode lets others read who holds it
            handle = winapi.open_handle(
                path, access=_GENERIC_READ_WRITE, share=_SHARE_READ, how=_OPEN_ALWAYS
            )
        except OSError as error:
            if error.winerror == _SHARING_VIOLATION:
                return None
            raise
        return msvcrt.open_osfhandle(handle, os.O_RDWR)

else:
    import fcntl

    def _try_lock(path: Path) -> int | None:
        """A descriptor of the file, locked for us alone; None if another process has it."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor


@contextlib.contextmanager
def locked(path: Path, target: str, wait: float) -> Iterator[None]:
    """Hold the lock file `path` for `target`; wait at most `wait` seconds for it.

    The file stays when the lock is given back: removing it would let two processes each hold a
    lock on a file of that name.

    Raises:
        TargetBusyError: another process has it; the message says which.
        JournalError: the lock file cannot be made.
    """
    end = time.monotonic() + wait
    while (descriptor := _tried(path)) is None:
        if time.monotonic() >= end:
            msg = f"another tritonwin{_holder(path)} is at work on {target}"
            raise TargetBusyError(msg, "Wait until it has finished, or end it, and try again.")
        time.sleep(_PAUSE)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _tried(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _try_lock(path)
    except OSError as error:
        raise refusal(path, error) from error


def _holder(path: Path) -> str:
    try:
        number = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return f" (process {number})" if number.isdigit() else ""
