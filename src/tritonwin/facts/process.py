"""Start a program: absolute path, no shell, a time limit that ends its whole tree."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.ntstatus import describe_exit

if sys.platform == "win32":
    import msvcrt


@dataclass(frozen=True)
class Completed:
    """How a program ended. `code` is None when it was ended by the time limit."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def timed_out(self) -> bool:
        return self.code is None

    def ending(self) -> str:
        """The ending in words: "exit 1", "0xC0000005 (access violation)", "time limit"."""
        return "time limit" if self.code is None else describe_exit(self.code)


def run(
    program: str | Path,
    args: Sequence[str] = (),
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    stdin: bytes = b"",
) -> Completed:
    """Run `program` and wait at most `timeout` seconds.

    Raises:
        OSError: the program cannot be started.
        ValueError: `program` is not an absolute path (a bare name could be a planted file).
    """
    if not Path(program).is_absolute():
        msg = f"not an absolute path: {program}"
        raise ValueError(msg)
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
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        _end_tree(process)
        # a grandchild that survived may still hold the pipes
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=2)
        return Completed(None, b"", b"")
    except BaseException:
        _end_tree(process)
        raise
    return Completed(process.returncode, out, err)


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        root = os.environ.get("SystemRoot", r"C:\Windows")
        taskkill = Path(root, "System32", "taskkill.exe")
        if taskkill.is_file():
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
