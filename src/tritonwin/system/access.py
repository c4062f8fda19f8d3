"""May this process write into a folder? Asked without writing anything."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tritonwin.system import winapi
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
    _FILE_ADD_FILE = 0x0002
    _SHARE_ALL = 0x7
    _OPEN_EXISTING = 3
    _FILE_FLAG_BACKUP_SEMANTICS = 0x02000000  # needed to open a folder
    _ERROR_ACCESS_DENIED = 5
    _ERROR_WRITE_PROTECT = 19

    def _may_add_files(folder: Path) -> bool | None:
        try:
            handle = winapi.open_handle(
                folder,
                access=_FILE_ADD_FILE,
                share=_SHARE_ALL,
                how=_OPEN_EXISTING,
                flags=_FILE_FLAG_BACKUP_SEMANTICS,
            )
        except OSError as error:
            denied = (_ERROR_ACCESS_DENIED, _ERROR_WRITE_PROTECT)
            return False if error.winerror in denied else None
        winapi.close_handle(handle)
        return True

else:

    def _may_add_files(folder: Path) -> bool | None:
        return os.access(folder, os.W_OK | os.X_OK)


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
