"""The few ways in which a journal touches the disk. Renames wait out who only reads a moment."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tritonwin.journal.faults import faultpoint
from tritonwin.journal.refusal import JournalError, refusal

# A virus scanner or an indexer holds a new file for a moment; a program in use stays.
RETRY_SECONDS = 2.0
_PAUSE = 0.1


def rename(source: Path, destination: Path, patience: float = RETRY_SECONDS) -> None:
    """Give a file, folder or link another name on the same volume; nothing may be there yet.

    Also works on a DLL that is loaded and on a read-only file, where Windows refuses deletion.

    Raises:
        JournalError: a program holds the file longer than `patience` seconds, rights are missing,
            or something lies at `destination`.
    """
    faultpoint(f"before rename {destination.name}")
    end = time.monotonic() + (patience if sys.platform == "win32" else 0)
    while True:
        # os.rename would replace a file on Linux
        if os.path.lexists(destination):
            msg = f"{destination} exists already"
            raise JournalError(msg, "Move it away and try again.")
        try:
            source.rename(destination)
        except PermissionError as error:
            if time.monotonic() >= end:
                raise refusal(source, error) from error
            time.sleep(_PAUSE)
        except OSError as error:
            raise refusal(source, error) from error
        else:
            break
    faultpoint(f"after rename {destination.name}")


def write_new(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file that does not exist and see it safely on the disk. Raises JournalError."""
    try:
        faultpoint(f"before write {path.name}")
        with path.open("xb") as file:
            file.write(data[: len(data) // 2])
            faultpoint(f"in the middle of {path.name}")
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            path.chmod(mode)
    except OSError as error:
        raise refusal(path, error) from error
    faultpoint(f"after write {path.name}")


def replace_text(path: Path, text: str) -> None:
    """Replace a file of the journal's own, whole or not at all. Raises OSError."""
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    faultpoint(f"before replace {path.name}")
    temporary.replace(path)
    sync_folder(path.parent)
    faultpoint(f"after replace {path.name}")


def sync_folder(path: Path) -> None:
    """See new names in the folder safely on the disk; Windows has no call for it."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make one folder. Raises JournalError."""
    faultpoint(f"before mkdir {path.name}")
    try:
        path.mkdir()
    except OSError as error:
        raise refusal(path, error) from error
    faultpoint(f"after mkdir {path.name}")


def remove_folder(path: Path) -> None:
    """Remove one empty folder. Raises JournalError."""
    faultpoint(f"before rmdir {path.name}")
    try:
        path.rmdir()
    except OSError as error:
        raise refusal(path, error) from error
    faultpoint(f"after rmdir {path.name}")


def discard(path: Path) -> bool:
    """Delete what the journal owns, read-only or not. False where something could not go."""
    if not os.path.lexists(path):
        return True
    faultpoint(f"before discard {path.name}")
    if path.is_dir() and not path.is_symlink():
        if sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=_insist)
        else:
            shutil.rmtree(path, onerror=_insist)
    else:
        _insist(os.unlink, str(path), None)
    faultpoint(f"after discard {path.name}")
    return not os.path.lexists(path)


def _insist(action: Callable[..., Any], name: str, _reason: object) -> None:
    """Once more without the read-only attribute; what a program still has loaded stays."""
    with contextlib.suppress(OSError):
        path = Path(name)
        path.parent.chmod(path.parent.stat().st_mode | stat.S_IRWXU)
        if not path.is_symlink():
            path.chmod(stat.S_IRWXU if path.is_dir() else stat.S_IWRITE | stat.S_IREAD)
        if action in (os.unlink, os.rmdir):
            action(name)
