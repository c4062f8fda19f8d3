"""May this process write into a folder? Asked without writing anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tritonwin.facts.files import is_file


def nearest_existing(folder: Path) -> Path | None:
    """The folder itself, or the closest parent that exists. What may not be looked at is there."""
    return next((place for place in (folder, *folder.parents) if not _absent(place)), None)


def _absent(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _FILE_ADD_FILE = 0x0002
    _SHARE_ALL = 0x7
    _OPEN_EXISTING = 3
    _FILE_FLAG_BACKUP_SEMANTICS = 0x02000000  # needed to open a folder
    _ERROR_ACCESS_DENIED = 5
    _ERROR_WRITE_PROTECT = 19

    def _may_add_files(folder: Path) -> bool | None:
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        create = kernel32.CreateFileW
        create.restype = wintypes.HANDLE
        create.argtypes = (
            wintypes.LPCWSTR,
            wintypes.DWORD,
            wintypes.DWORD,
            wintypes.LPVOID,
            wintypes.DWORD,
            wintypes.DWORD,
            wintypes.HANDLE,
        )
        kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
        handle = create(
            str(folder),
            _FILE_ADD_FILE,
            _SHARE_ALL,
            None,
            _OPEN_EXISTING,
            _FILE_FLAG_BACKUP_SEMANTICS,
            None,
        )
        if handle == wintypes.HANDLE(-1).value:
            denied = (_ERROR_ACCESS_DENIED, _ERROR_WRITE_PROTECT)
            return False if ctypes.get_last_error() in denied else None
        kernel32.CloseHandle(handle)
        return True

else:

    def _may_add_files(folder: Path) -> bool | None:
        return os.access(folder, os.W_OK | os.X_OK)


def can_write(folder: Path) -> bool | None:
    """Whether files could be added to the folder, or to its nearest parent that exists.

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
    """Why no file can be added to the folder; None where one can, or where it cannot be told."""
    existing = nearest_existing(folder)
    if existing is None or can_write(existing) is not False:
        return None
    return f"{existing} is a file" if is_file(existing) else f"{existing}: access denied"
