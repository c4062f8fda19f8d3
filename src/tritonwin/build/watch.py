"""What the processes of a build hold in memory, and which holds most."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SOURCE = re.compile(r"([^\\/\s\"']{1,200}\.(?:cu|cpp|cc|cxx|c))(?=[\s\"']|$)", re.IGNORECASE)
# what starts compilers; it holds little, and its command line names the source as theirs does
_DRIVERS = frozenset({"nvcc", "ninja", "sh", "cmd", "python", "ccache", "sccache"})


@dataclass(frozen=True, kw_only=True)
class Held:
    """Memory of one process: resident on Linux, committed on Windows, in bytes."""

    pid: int
    name: str  # "cicc"
    memory: int


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A tree at one moment. `heaviest`: "cicc flash_bwd_hdim256_bf16_sm80.cu", or empty."""

    memory: int = 0
    heaviest: str = ""


def sample(pids: Iterable[int]) -> Sample:
    """Add up what the processes hold; those that have gone meanwhile hold nothing."""
    held = [found for pid in pids if (found := _held(pid)) is not None]
    compilers = [h for h in held if h.name not in _DRIVERS]
    most = max(compilers, key=lambda h: h.memory, default=None)
    return Sample(
        memory=sum(h.memory for h in held),
        heaviest=f"{most.name} {source_in(_command_line(most.pid))}".strip() if most else "",
    )


def source_in(command_line: str) -> str:
    """The name of the last source file that a command line names; empty where it names none."""
    found = _SOURCE.findall(command_line)
    return found[-1] if found else ""


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    _QUERY_AND_READ = 0x1000 | 0x10
    _COMMAND_LINE = 60  # PROCESSINFOCLASS, since Windows 8.1
    _LONGEST = 65536

    _kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel32.OpenProcess.restype = wintypes.HANDLE
    _kernel32.OpenProcess.argtypes = (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)
    _kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
    _kernel32.K32GetProcessMemoryInfo.argtypes = (wintypes.HANDLE, wintypes.LPVOID, wintypes.DWORD)
    _kernel32.QueryFullProcessImageNameW.argtypes = (
        wintypes.HANDLE,
        wintypes.DWORD,
        wintypes.LPWSTR,
        wintypes.LPVOID,
    )
    _ntdll = ctypes.WinDLL("ntdll")
    _ntdll.NtQueryInformationProcess.argtypes = (
        wintypes.HANDLE,
        ctypes.c_int,
        wintypes.LPVOID,
        wintypes.ULONG,
        wintypes.LPVOID,
    )

    class _Counters(ctypes.Structure):
        """PROCESS_MEMORY_COUNTERS_EX of psapi.h."""

        _fields_ = (
            ("size", wintypes.DWORD),
            ("page_faults", wintypes.DWORD),
            ("peak_working_set", ctypes.c_size_t),
            ("working_set", ctypes.c_size_t),
            ("quotas", ctypes.c_size_t * 4),
            ("page_file", ctypes.c_size_t),
            ("peak_page_file", ctypes.c_size_t),
            ("private", ctypes.c_size_t),
        )

    class _UnicodeString(ctypes.Structure):
        """UNICODE_STRING of ntdef.h."""

        _fields_ = (
            ("length", wintypes.USHORT),
            ("capacity", wintypes.USHORT),
            ("text", wintypes.LPVOID),
        )

    def _held(pid: int) -> Held | None:
        handle = _kernel32.OpenProcess(_QUERY_AND_READ, False, pid)
        if not handle:
            return None
        try:
            counters = _Counters(size=ctypes.sizeof(_Counters))
            _kernel32.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), counters.size)
            name = ctypes.create_unicode_buffer(1024)
            size = wintypes.DWORD(len(name))
            _kernel32.QueryFullProcessImageNameW(handle, 0, name, ctypes.byref(size))
        finally:
            _kernel32.CloseHandle(handle)
        # one of the two is zero: the first in Wine, the second in Windows 7
        held = counters.private or counters.page_file
        return Held(pid=pid, name=Path(name.value).stem.lower(), memory=held)

    def _command_line(pid: int) -> str:
        handle = _kernel32.OpenProcess(_QUERY_AND_READ, False, pid)
        if not handle:
            return ""
        try:
            answer = ctypes.create_string_buffer(_LONGEST)
            failed = _ntdll.NtQueryInformationProcess(handle, _COMMAND_LINE, answer, _LONGEST, None)
        finally:
            _kernel32.CloseHandle(handle)
        if failed:
            return ""
        text = _UnicodeString.from_buffer(answer)
        return ctypes.wstring_at(text.text, text.length // 2) if text.text else ""

else:
    _PROC = Path("/proc")
    _PAGE = os.sysconf("SC_PAGE_SIZE")

    def _held(pid: int) -> Held | None:
        try:
            pages = int((_PROC / str(pid) / "statm").read_text("ascii").split()[1])
            name = (_PROC / str(pid) / "comm").read_text("utf-8", "replace").strip()
        except (OSError, ValueError, IndexError):
            return None
        return Held(pid=pid, name=re.sub(r"[\d.]+$", "", name), memory=pages * _PAGE)

    def _command_line(pid: int) -> str:
        try:
            line = (_PROC / str(pid) / "cmdline").read_bytes()
        except OSError:
            return ""
        return line.replace(b"\0", b" ").decode("utf-8", "replace")
