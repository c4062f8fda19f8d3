"""One tritonwin at a time on one target. The system drops the lock of a process that dies."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.journal.disk import refusal
from tritonwin.system.access import hold
from tritonwin.system.data_folder import VARIABLE
from tritonwin.system.files import read_text

_PAUSE = 0.2  # seconds between two tries


class TargetBusyError(UserError):
    """Another tritonwin is at work on the same target."""


@contextlib.contextmanager
def locked(path: Path, target: str, wait: float) -> Iterator[None]:
    """Hold the lock file `path` for `target`; wait at most `wait` seconds for it.

    The file stays when the lock is released: removing it would let two processes each hold a
    lock on a file of that name.

    Raises:
        TargetBusyError: another process has it; the message says which.
        JournalError: the lock file cannot be made.
    """
    end = time.monotonic() + wait
    while (descriptor := _tried(path)) is None:
        if time.monotonic() >= end:
            raise TargetBusyError(
                f"another tritonwin{_holder(path)} is at work on {target}",
                "Wait until it has finished, or end it, and try again.",
            )
        time.sleep(_PAUSE)
    try:
        with contextlib.suppress(OSError):  # a full disk; only for words
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        os.close(descriptor)


def _tried(path: Path) -> int | None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return hold(path)
    except OSError as error:
        refused = refusal(path, error)
        if error.errno != errno.ENOSPC:
            refused.help = (
                "tritonwin keeps there what it needs for an undo: make that folder writable. For a "
                f"new change another one can be named in the variable {VARIABLE}."
            )
        raise refused from error


def _holder(path: Path) -> str:
    number = (read_text(path) or "").strip()
    return f" (process {number})" if number.isdecimal() else ""
