"""Which programs have a file open or loaded, as Windows' Restart Manager knows it.

Installers ask the same way. Wine answers nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

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
        """The programs, "python (process 4711)"; empty where none is known."""
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
