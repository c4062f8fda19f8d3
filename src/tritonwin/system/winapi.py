"""The few questions that only Windows' own functions answer. Elsewhere every answer is None."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath


@dataclass(frozen=True)
class Memory:
    """Physical memory in bytes; `free_commit` is what may still be allocated, paged or not."""

    total: int
    free: int
    free_commit: int


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    class _MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX of sysinfoapi.h."""

        _fields_ = (
            ("length", wintypes.DWORD),
            ("load", wintypes.DWORD),
            ("total", ctypes.c_uint64),
            ("free", ctypes.c_uint64),
            ("total_page_file", ctypes.c_uint64),
            ("free_page_file", ctypes.c_uint64),
            ("total_virtual", ctypes.c_uint64),
            ("free_virtual", ctypes.c_uint64),
            ("free_extended_virtual", ctypes.c_uint64),
        )

    _LONGEST_PATH = 32_768  # characters

    def short_path(path: PurePath) -> PurePath | None:
        """The path in 8.3 names, as far as its parts have some; None where it does not exist."""
        found = ctypes.create_unicode_buffer(_LONGEST_PATH)
        length = ctypes.windll.kernel32.GetShortPathNameW(str(path), found, _LONGEST_PATH)
        return type(path)(found.value) if 0 < length < _LONGEST_PATH else None

    def windows_version() -> str | None:
        """ "10.0.22631", as the running Python is told it."""
        version = sys.getwindowsversion()
        return f"{version.major}.{version.minor}.{version.build}"

    def ansi_code_page() -> int | None:
        """The ANSI code page of this process."""
        return int(ctypes.windll.kernel32.GetACP())

    def is_admin() -> bool | None:
        """True if this process runs with administrator rights."""
        try:
            return bool(ctypes.windll.shell32.IsUserAnAdmin())
        except (AttributeError, OSError):
            return None

    def wine_version() -> str | None:
        """The version of Wine where it plays Windows; None on Windows."""
        ask = getattr(ctypes.windll.ntdll, "wine_get_version", None)
        if ask is None:
            return None
        ask.restype = ctypes.c_char_p
        answer = ask()
        return answer.decode("ascii", "replace") if isinstance(answer, bytes) else None

    def memory() -> Memory | None:
        """Installed and available memory."""
        status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            return None
        return Memory(status.total, status.free, status.free_page_file)

else:

    def _not_windows(*_: object) -> None:
        """None: this is not Windows."""

    short_path: Callable[[PurePath], PurePath | None] = _not_windows
    windows_version: Callable[[], str | None] = _not_windows
    ansi_code_page: Callable[[], int | None] = _not_windows
    is_admin: Callable[[], bool | None] = _not_windows
    wine_version: Callable[[], str | None] = _not_windows
    memory: Callable[[], Memory | None] = _not_windows


def in_ascii(path: PurePath) -> PurePath | None:
    """The same file or folder by a name that holds ASCII alone; None where it has none.

    What Triton 3.5 and later read from the environment they ask C for, which gives it in Windows'
    code page, and decode it as UTF-8: any other letter ends in UnicodeDecodeError.
    """
    short = path if str(path).isascii() else short_path(path)
    return short if short is not None and str(short).isascii() else None
