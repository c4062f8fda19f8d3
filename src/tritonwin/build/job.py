"""A build's processes on Windows: a job object, which the system ends with its last handle."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    raise ImportError("only Windows has jobs")

from ctypes import wintypes

_PROCESS_IDS = 3  # JOBOBJECTINFOCLASS of winnt.h
_EXTENDED_LIMITS = 9
_KILL_ON_CLOSE = 0x2000
_SUSPENDED_GROUP_NO_WINDOW = 0x4 | 0x200 | 0x08000000
_MOST_PROCESSES = 4096
_LAST_WORDS = 10.0
_QUERY_AND_READ = 0x1000 | 0x10

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_ntdll = ctypes.WinDLL("ntdll")
# handles and pointers have 64 bits, and ctypes passes ints of 32 unless it is told
_HANDLE, _DWORD, _POINTER = wintypes.HANDLE, wintypes.DWORD, wintypes.LPVOID
for _function, _types in (
    (_kernel32.CreateJobObjectW, (_POINTER, wintypes.LPCWSTR)),
    (_kernel32.AssignProcessToJobObject, (_HANDLE, _HANDLE)),
    (_kernel32.TerminateJobObject, (_HANDLE, wintypes.UINT)),
    (_kernel32.CloseHandle, (_HANDLE,)),
    (_kernel32.SetInformationJobObject, (_HANDLE, ctypes.c_int, _POINTER, _DWORD)),
    (_kernel32.QueryInformationJobObject, (_HANDLE, ctypes.c_int, _POINTER, _DWORD, _POINTER)),
    (_kernel32.OpenProcess, (_DWORD, wintypes.BOOL, _DWORD)),
    (_kernel32.K32GetProcessMemoryInfo, (_HANDLE, _POINTER, _DWORD)),
    (_ntdll.NtResumeProcess, (_HANDLE,)),
):
    _function.argtypes = _types
for _function in (_kernel32.CreateJobObjectW, _kernel32.OpenProcess):
    _function.restype = _HANDLE


class _ProcessIds(ctypes.Structure):
    """JOBOBJECT_BASIC_PROCESS_ID_LIST."""

    _fields_ = (
        ("assigned", _DWORD),
        ("listed", _DWORD),
        ("ids", ctypes.c_size_t * _MOST_PROCESSES),
    )


class _Counters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS_EX of psapi.h."""

    _fields_ = (
        ("size", _DWORD),
        ("page_faults", _DWORD),
        ("working_sets_and_quotas", ctypes.c_size_t * 6),
        ("page_file", ctypes.c_size_t),
        ("peak_page_file", ctypes.c_size_t),
        ("private", ctypes.c_size_t),
    )


class JobTree:
    """The processes of one build command; see `tritonwin.build.session.SessionTree`."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: IO[bytes]
    ) -> None:
        self._job: int | None = _checked(_kernel32.CreateJobObjectW(None, None))
        # JOBOBJECT_EXTENDED_LIMIT_INFORMATION; LimitFlags stand behind two numbers of 64 bits
        limits = (_DWORD * 36)(*[0] * 4, _KILL_ON_CLOSE)
        size = ctypes.sizeof(limits)
        _checked(
            _kernel32.SetInformationJobObject(
                self._job, _EXTENDED_LIMITS, ctypes.byref(limits), size
            )
        )
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            creationflags=_SUSPENDED_GROUP_NO_WINDOW,
        )
        # suspended until it belongs to the job, so that no child of it can escape
        handle = int(vars(self._process)["_handle"])
        try:
            _checked(_kernel32.AssignProcessToJobObject(self._job, handle))
        except OSError:
            self._process.kill()
            raise
        _ntdll.NtResumeProcess(handle)

    def poll(self) -> int | None:
        return self._process.poll()

    def end(self) -> None:
        if self._job is not None:
            _kernel32.TerminateJobObject(self._job, 1)
            self._process.wait(_LAST_WORDS)
            _kernel32.CloseHandle(self._job)
            self._job = None

    def held(self) -> list[int]:
        ids, found = _ProcessIds(), list[int]()
        ask, size = _kernel32.QueryInformationJobObject, ctypes.sizeof(ids)
        told = self._job and ask(self._job, _PROCESS_IDS, ctypes.byref(ids), size, None)
        for pid in ids.ids[: ids.listed] if told else ():
            handle = _kernel32.OpenProcess(_QUERY_AND_READ, False, pid)
            if not handle:  # it has ended
                continue
            counters = _Counters(size=ctypes.sizeof(_Counters))
            _kernel32.K32GetProcessMemoryInfo(handle, ctypes.byref(counters), counters.size)
            _kernel32.CloseHandle(handle)
            # one of the two is zero: the first in Wine, the second in Windows 7
            found.append(counters.private or counters.page_file)
        return found


def _checked(answer: int | None) -> int:
    if not answer:
        raise ctypes.WinError(ctypes.get_last_error())
    return answer
