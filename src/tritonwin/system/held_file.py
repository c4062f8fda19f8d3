"""A file that one process holds. The system lets go of it when that process dies, however."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tritonwin.system import winapi

if sys.platform == "win32":
    import msvcrt

    _GENERIC_READ_WRITE = 0xC0000000
    _SHARE_READ = 1
    _OPEN_ALWAYS = 4
    _SHARING_VIOLATION = 32

    def hold(path: Path) -> int | None:
        """A descriptor of the file, made if need be, that nobody else may write or delete.

        None while another process, or another part of this one, has it. Closing it lets go.

        Raises:
            OSError: it can be neither made nor opened.
        """
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

    def hold(path: Path) -> int | None:
        """A descriptor of the file, made if need be, locked for us alone.

        None while another process, or another part of this one, has it, or where it is deleted at
        this moment. Closing it lets go.

        Raises:
            OSError: it can be neither made nor opened.
        """
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
