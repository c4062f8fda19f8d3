"""Errors of the disk and the registry, in words, with what to do about them."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from tritonwin.errors import UserError

# of the user: a quota, and the size of a file
_LIMITS = {errno.EFBIG, getattr(errno, "EDQUOT", errno.EFBIG)}


class JournalError(UserError):
    """A change that cannot be made or undone; the message names the file."""


def refusal(path: Path, error: OSError) -> JournalError:
    """The error of a change to the disk."""
    reason = f"cannot change {path}: {error.strerror or error}"
    if error.errno == errno.ENOSPC:
        return JournalError(reason, "Make room on that drive and try again.")
    if error.errno in _LIMITS:
        return JournalError(reason, "Raise that limit (quota, ulimit -f) and try again.")
    if not isinstance(error, PermissionError):
        return JournalError(reason, "See what was begun and did not end: tritonwin undo --list")
    return JournalError(
        reason,
        "Close the programs that use it (ComfyUI, Python, an editor) and try again; in a "
        "folder like Program Files administrator rights are needed.",
    )


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Turn an OSError of the block into a JournalError that names the file."""
    try:
        yield
    except OSError as error:
        raise refusal(Path(str(error.filename or "a file")), error) from error


def registry_refusal(key: str, error: OSError) -> JournalError:
    """The error of a change to the registry."""
    reason = f"cannot change {key}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return JournalError(reason, "Run tritonwin in a terminal started as administrator.")
    return JournalError(reason)
