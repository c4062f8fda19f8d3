"""Access to files: the right to write into a folder, and a file held against others.

Whether it may write is asked without writing anything. What it holds the system lets go of when it
dies, however.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tritonwin.system.files import ask, is_file


def nearest_existing(folder: Path) -> Path | None:
    """The folder itself, or the closest parent that exists. What may not be looked at is there."""
    return next((place for place in (folder, *folder.parents) if not _absent(place)), None)


def _absent(path: Path) -> bool:
    def is_absent(path: Path) -> bool:
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (OSError, ValueError):
            return False
        return False

    return ask(is_absent, path, True)


if sys.platform == "win32":
    import _winapi  # as subprocess and multiprocessing of Python's own open handles
    import msvcrt

    _FILE_ADD_FILE = 0x0002
    _SHARE_ALL, _SHARE_READ = 0x7, 0x1
    _GENERIC_READ_WRITE = 0xC0000000
    _OPEN_EXISTING, _OPEN_ALWAYS = 3, 4
    _BACKUP_SEMANTICS = 0x02000000  # needed to open a folder
    _ERROR_ACCESS_DENIED = 5
    _ERROR_WRITE_PROTECT = 19
    _SHARING_VIOLATION = 32

    def _may_add_files(folder: Path) -> bool | None:
        try:
            handle = _winapi.CreateFile(
                str(folder), _FILE_ADD_FILE, _SHARE_ALL, 0, _OPEN_EXISTING, _BACKUP_SEMANTICS, 0
            )
        except OSError as error:
            denied = (_ERROR_ACCESS_DENIED, _ERROR_WRITE_PROTECT)
            return False if error.winerror in denied else None
        _winapi.CloseHandle(handle)
        return True

    def _hold(path: Path) -> int | None:
        try:
            # not msvcrt.locking: a share mode lets others read who holds it
            handle = _winapi.CreateFile(
                str(path), _GENERIC_READ_WRITE, _SHARE_READ, 0, _OPEN_ALWAYS, 0, 0
            )
        except OSError as error:
            if error.winerror == _SHARING_VIOLATION:
                return None
            raise
        return msvcrt.open_osfhandle(handle, os.O_RDWR)

else:
    import fcntl

    def _may_add_files(folder: Path) -> bool | None:
        return os.access(folder, os.W_OK | os.X_OK)

    def _hold(path: Path) -> int | None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        if os.fstat(descriptor).st_nlink == 0:  # its last holder deleted it meanwhile
            os.close(descriptor)
            return None
        return descriptor


def hold(path: Path) -> int | None:
    """A descriptor of the file, made if need be, that no other tritonwin gets; closing it lets go.

    None while another process, or another part of this one, has it, or where it is deleted at this
    moment.

    Raises:
        OSError: it can be neither made nor opened.
    """
    return _hold(path)


def can_write(folder: Path) -> bool | None:
    """True if files could be added to the folder, or to its nearest parent that exists.

    On Windows `os.access` looks at the read-only attribute only, which says nothing of a folder.
    There, a handle with the right to add files is opened and closed: the system itself decides,
    and nothing changes. None where it cannot be told, as for a drive that is gone. What a virus
    scanner or Windows' controlled folder access refuses later is not seen.
    """
    existing = nearest_existing(folder)
    if existing is None:
        return None
    return False if is_file(existing) else _may_add_files(existing)


def write_obstacle(folder: Path) -> str | None:
    """The reason why no file can be added to the folder; None where one can, or if not known."""
    existing = nearest_existing(folder)
    if existing is None or can_write(existing) is not False:
        return None
    return f"{existing} is a file" if is_file(existing) else f"{existing}: access denied"
