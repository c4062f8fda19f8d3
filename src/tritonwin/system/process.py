"""Start a program: absolute path, no shell, bounds on time and output that end its whole tree."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tritonwin.system.files import is_file

if sys.platform == "win32":
    import msvcrt

# Nothing that we start has that much to say; a program that floods us must not fill the memory.
OUTPUT_LIMIT = 16 * 2**20

# Begins a program for `python -c`, which puts the current folder first on the path: what lies there
# may be called like a module of Python's own. `-I` would leave out the user's packages as well, and
# `-P` is of Python 3.11.
NOTHING_FROM_HERE = "import sys; sys.path[:] = [p for p in sys.path if p]"

# Ends a program of `python -c` when its input ends: we were killed, and nobody waits for it (see
# `run`, stdin). It reads below Python's buffers, which may not be held when Python ends.
ENDS_WITH_US = (
    "import os, threading; "
    "threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()"
)

_AFTERMATH = 2.0  # seconds for the pipes to close when their program has ended

_running: set[subprocess.Popen[bytes]] = set()
_running_lock = threading.Lock()


@dataclass(frozen=True)
class Completed:
    """The end of a program. `code` is None when it was ended by the time limit."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def timed_out(self) -> bool:
        return self.code is None

    def ending(self) -> str:
        """In words: "exit 1", "0xC0000005 (access violation)", "signal 9 (Killed)"."""
        if self.code is None:
            return "time limit"
        if -64 <= self.code < 0:
            return f"signal {-self.code} ({signal.strsignal(-self.code) or 'unknown'})"
        unsigned = self.code & 0xFFFFFFFF
        if unsigned < 0x80000000:
            return f"exit {self.code}"
        name = _NTSTATUS.get(unsigned)
        return f"0x{unsigned:08X} ({name})" if name else f"0x{unsigned:08X}"


def run(
    program: str | Path,
    args: Sequence[str] = (),
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    stdin: bytes | None = b"",
) -> Completed:
    """Run `program` and wait for its end, at most `timeout` seconds.

    One that writes more than OUTPUT_LIMIT bytes to a stream is ended; what it wrote is kept.

    Args:
        stdin: what it reads. None: nothing, but without an end while we are there to wait, so that
            a program that watches its input knows when we were killed.

    Raises:
        OSError: the program cannot be started.
        ValueError: `program` is not an absolute path (a bare name could be a planted file).
    """
    if not Path(program).is_absolute():
        raise ValueError(f"not an absolute path: {program}")
    if sys.platform == "win32":
        # a child whose DLLs are missing must fail, not open a box and wait; children inherit this
        msvcrt.SetErrorMode(msvcrt.SEM_FAILCRITICALERRORS | msvcrt.SEM_NOGPFAULTERRORBOX)
    process = subprocess.Popen(
        [str(program), *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if env is None else dict(env),
        cwd=cwd,
        start_new_session=sys.platform != "win32",
        # no window flashes up, and Ctrl-C reaches us alone
        creationflags=0x08000200 if sys.platform == "win32" else 0,
    )
    with _running_lock:
        _running.add(process)
    try:
        return _converse(process, stdin, timeout)
    except BaseException:
        _end_tree(process)
        raise
    finally:
        if stdin is None and process.stdin:
            process.stdin.close()
        with _running_lock:
            _running.discard(process)


def end_running() -> None:
    """End every program that `run` waits for in any thread, so that the threads can go on."""
    with _running_lock:
        processes = tuple(_running)
    for process in processes:
        _end_tree(process)


def _converse(process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float) -> Completed:
    """Feed and drain the pipes, each in a thread: on Windows a pipe cannot be waited for."""
    out, err = bytearray(), bytearray()
    workers = [
        threading.Thread(target=_drain, args=(process, process.stdout, out), daemon=True),
        threading.Thread(target=_drain, args=(process, process.stderr, err), daemon=True),
    ]
    if stdin is not None:
        workers.append(threading.Thread(target=_feed, args=(process.stdin, stdin), daemon=True))
    for worker in workers:
        worker.start()
    code: int | None = None
    with contextlib.suppress(subprocess.TimeoutExpired):
        code = process.wait(timeout)
    if code is None or not _joined(workers):
        # out of time, or something that it started lives on and holds its pipes
        _end_tree(process)
        _joined(workers)
    return Completed(code, bytes(out), bytes(err))


def _joined(workers: Sequence[threading.Thread]) -> bool:
    deadline = time.monotonic() + _AFTERMATH
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    return not any(worker.is_alive() for worker in workers)


def _feed(pipe: IO[bytes], data: bytes) -> None:
    # a program that ends without reading breaks the pipe
    with contextlib.suppress(OSError), pipe:
        pipe.write(data)


def _drain(process: subprocess.Popen[bytes], pipe: IO[bytes], into: bytearray) -> None:
    with contextlib.suppress(OSError), pipe:
        while len(into) <= OUTPUT_LIMIT and (chunk := os.read(pipe.fileno(), 2**16)):
            into += chunk
    if len(into) > OUTPUT_LIMIT:
        _end_tree(process)


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        root = os.environ.get("SystemRoot", r"C:\Windows")
        taskkill = Path(root, "System32", "taskkill.exe")
        if is_file(taskkill):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(
                    [str(taskkill), "/T", "/F", "/PID", str(process.pid)],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=10,
                    check=False,
                )
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_AFTERMATH)


# From the "NTSTATUS Values" reference of Microsoft's open specifications.
_NTSTATUS = {
    0x80000003: "breakpoint",
    0xC0000005: "access violation",
    0xC0000017: "no memory",
    0xC000001D: "illegal instruction",
    0xC000007B: "invalid image format: 32 and 64 bit mixed",
    0xC00000FD: "stack overflow",
    0xC0000135: "a DLL was not found",
    0xC0000138: "a DLL lacks an ordinal",
    0xC0000139: "a DLL lacks a function",
    0xC0000142: "a DLL failed to initialise",
    0xC0000374: "heap corruption",
    0xC0000409: "fail fast: the process ended itself",
    0xC06D007E: "a delay-loaded DLL was not found",
    0xC06D007F: "a delay-loaded DLL lacks a function",
}


def parse_answer(out: bytes, cookie: str) -> dict[str, Any] | None:
    """The JSON object between the cookies; None where there is none or it is damaged."""
    text = out.decode("utf-8", "replace")
    _, found, rest = text.partition(cookie)
    body, ended, _ = rest.partition(cookie[::-1])
    if not found or not ended:
        return None
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None
