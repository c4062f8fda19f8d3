"""Errors of the disk and the registry, in words, with what to do about them."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Iterator
from pathlib import Path

from tritonwin.errors import UserError

if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _MOST = 8  # programs that are named
    _SESSION_KEY = 33  # characters: CCH_RM_SESSION_KEY and the zero

    class _Process(ctypes.Structure):
        """RM_PROCESS_INFO of RestartManager.h."""

        _fields_ = (
            ("number", wintypes.DWORD),
            ("started", wintypes.FILETIME),
            ("name", wintypes.WCHAR * 256),
            ("service", wintypes.WCHAR * 64),
            ("type", ctypes.c_int),
            ("status", wintypes.ULONG),
            ("terminal_session", wintypes.DWORD),
            ("restartable", wintypes.BOOL),
        )

    def holders(path: Path) -> tuple[str, ...]:
        """The programs that have a file open or loaded, "python (process 4711)".

        Asked of Windows' Restart Manager, as installers do. Wine answers nothing.
        """
        try:
            manager = ctypes.WinDLL("rstrtmgr")
        except OSError:
            return ()
        session = wintypes.DWORD()
        key = ctypes.create_unicode_buffer(_SESSION_KEY)
        if manager.RmStartSession(ctypes.byref(session), 0, key):
            return ()
        try:
            return _listed(manager, session, path)
        finally:
            manager.RmEndSession(session)

    def _listed(manager: ctypes.WinDLL, session: wintypes.DWORD, path: Path) -> tuple[str, ...]:
        files = (wintypes.LPCWSTR * 1)(str(path))
        if manager.RmRegisterResources(session, 1, files, 0, None, 0, None):
            return ()
        needed, count = wintypes.UINT(), wintypes.UINT(_MOST)
        reasons = wintypes.DWORD()
        found = (_Process * _MOST)()
        failed = manager.RmGetList(
            session, ctypes.byref(needed), ctypes.byref(count), found, ctypes.byref(reasons)
        )
        known = () if failed else found[: count.value]
        return tuple(f"{each.name} (process {each.number})" for each in known)

else:

    def holders(path: Path) -> tuple[str, ...]:
        """None: elsewhere an open file can be renamed and deleted."""
        del path
        return ()


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
    using = holders(path)
    if using:
        return JournalError(reason, f"Close {', '.join(using)} and try again.")
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
