"""The few ways in which a journal touches the disk, and their errors in words.

Renames wait out who only reads a moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tritonwin.errors import UserError
from tritonwin.journal.faults import faultpoint
from tritonwin.system.files import long_path

# of the user: a quota, and the size of a file
_LIMITS = {errno.EFBIG, getattr(errno, "EDQUOT", errno.EFBIG)}


class JournalError(UserError):
    """A change that cannot be made or undone; the message names the file."""


def refusal(place: Path | str, error: OSError) -> JournalError:
    """The error of a change to the disk or the registry."""
    reason = f"cannot change {place}: {error.strerror or error}"
    if error.errno == errno.ENOSPC:
        return JournalError(reason, "Make room on that drive and try again.")
    if error.errno in _LIMITS:
        return JournalError(reason, "Raise that limit (quota, ulimit -f) and try again.")
    if not isinstance(error, PermissionError):
        return JournalError(reason, "See what was begun and did not end: tritonwin undo --list")
    return JournalError(
        reason,
        "Close the programs that use it (ComfyUI, Python, an editor) and try again; for a folder "
        "like Program Files and for settings of all users administrator rights are needed.",
    )


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Turn an OSError of the block into a JournalError that names the file."""
    try:
        yield
    except OSError as error:
        raise refusal(Path(str(error.filename or "a file")), error) from error


# On Windows a virus scanner or an indexer holds a new file for a moment.
PATIENCE = 2.0 if sys.platform == "win32" else 0.0  # seconds
# A folder with a loaded DLL in it stays locked; the files in it can be renamed.
FOLDER_PATIENCE = min(PATIENCE, 0.3)
_PAUSE = 0.1


def is_real_folder(path: Path) -> bool:
    """True for a folder that is neither a link nor a junction. Raises OSError."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISDIR(status.st_mode) and not getattr(status, "st_reparse_tag", 0)


@contextlib.contextmanager
def _change(what: str, path: Path, refused: Path | None = None) -> Iterator[None]:
    """A change with places to crash before and after; an OSError is put into words."""
    faultpoint(f"before {what} {path.name}")
    try:
        yield
    except OSError as error:
        raise refusal(refused or path, error) from error
    faultpoint(f"after {what} {path.name}")


def rename(source: Path, destination: Path, patience: float = PATIENCE) -> None:
    """Rename a file, folder or link on the same volume; nothing may be there yet.

    Also works on a DLL that is loaded and on a read-only file, where Windows refuses deletion.

    Raises:
        JournalError: a program holds the file longer than `patience` seconds, rights are missing,
            or something lies at `destination`.
    """
    with _change("rename", destination, refused=source):
        # os.rename would replace a file on Linux
        if os.path.lexists(destination):
            raise JournalError(f"{destination} exists already", "Move it away and try again.")
        _patiently(lambda: source.rename(destination), patience)


def locked_folder(source: Path, error: JournalError) -> bool:
    """True where a rename failed because a program has something in the folder open."""
    return isinstance(error.__cause__, PermissionError) and is_real_folder(source)


def _patiently(action: Callable[[], object], patience: float) -> None:
    """Do it as soon as nobody else has the file; raise PermissionError when that takes too long."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with contextlib.suppress(PermissionError):
            action()
            return
        time.sleep(_PAUSE)
    action()


def write_new(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file that does not exist and see it safely on the disk. Raises JournalError."""
    with _change("write", path):
        store(path, data)
        if mode is not None:
            path.chmod(mode)


def content(path: Path) -> bytes:
    """The content of a file of the journal's own.

    Raises:
        OSError: it cannot be read, or is none: a pipe would keep us waiting, a device has no end.
    """
    if os.path.lexists(path) and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.read_bytes()


def store(path: Path, data: bytes) -> None:
    """Write a new file of the journal's own and see it safely on the disk. Raises OSError.

    Anything that lies there, which a crash may have left, is deleted and neither followed nor
    waited for.
    """
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        file.write(data[: len(data) // 2])
        faultpoint(f"in the middle of {path.name}")
        file.write(data[len(data) // 2 :])
        file.flush()
        os.fsync(file.fileno())


def replace_text(path: Path, text: str) -> None:
    """Replace a file of the journal's own, whole or not at all. Raises OSError."""
    temporary = path.with_name(f"{path.name}.new")
    store(temporary, text.encode("utf-8"))
    faultpoint(f"before replace {path.name}")
    _patiently(lambda: temporary.replace(path), PATIENCE)
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
    with _change("mkdir", path):
        path.mkdir()


def remove_folder(path: Path) -> None:
    """Remove one empty folder. Raises JournalError."""
    with _change("rmdir", path):
        path.rmdir()


def discard(path: Path) -> bool:
    """Delete what the journal owns, read-only or not. False where something could not go."""
    if not os.path.lexists(path):
        return True
    path = long_path(path)  # what was kept may lie deeper now
    faultpoint(f"before discard {path.name}")
    if is_real_folder(path):
        if sys.version_info >= (3, 12):
            shutil.rmtree(path, onexc=_insist)
        else:
            shutil.rmtree(path, onerror=_insist)
    else:
        _delete(path)
    faultpoint(f"after discard {path.name}")
    return not os.path.lexists(path)


def _insist(action: Callable[..., Any], name: str, _reason: object) -> None:
    """Retry after clearing read-only; what a program still has loaded stays."""
    if action is os.unlink:
        with contextlib.suppress(OSError):
            Path(name).parent.chmod(stat.S_IRWXU)
        _delete(Path(name))


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        if not path.is_symlink():
            path.chmod(stat.S_IREAD | stat.S_IWRITE)  # Windows deletes no read-only file
        path.unlink()
