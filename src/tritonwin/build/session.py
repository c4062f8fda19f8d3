"""A build's processes on POSIX: a session whose leader ends it when tritonwin has gone.

The leader is this file, started as a program of its own, since a killed process cannot clean up.
It leads a session, since ninja gives every compiler a process group of its own. Its standard input
is a pipe of which tritonwin alone holds the other end: when that closes, tritonwin has ended or
wants the build to end.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    raise ImportError("Windows has jobs for this")

_PROC = Path("/proc")
_PAUSE = 0.02
_SESSION = 3  # fields of /proc/PID/stat behind the name: state, parent, group, session
_PARENT = 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LAST_WORDS = 10.0  # seconds for a leader that was told to end
# linux/prctl.h
_PDEATHSIG = 1
_SUBREAPER = 36


def members(session: int) -> Iterator[int]:
    """Living processes of a session besides its leader, and what the leader inherited."""
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text("latin-1").rpartition(")")[2].split()
            mine = session in (int(fields[_SESSION]), int(fields[_PARENT]))
            if mine and fields[0] not in "ZX" and int(entry.name) != session:
                yield int(entry.name)


def end_session(session: int) -> None:
    """Kill every process of a session but its leader; ninja compiles again what is half-written."""
    while left := set(members(session)):
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE)


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # there is none outside Linux
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def main(command: list[str]) -> int:
    """Run the command; its exit code, or 128 and the number of the signal that ended it."""
    _prctl(_SUBREAPER, 1)  # orphans become children of this process
    try:
        build = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: _prctl(_PDEATHSIG, signal.SIGKILL),
        )
    except OSError as error:
        print(f"{command[0]} cannot be started: {error}", file=sys.stderr)  # noqa: T201
        return 127
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    code = None
    while code is None:
        told, _, _ = select.select([0], [], [], _PAUSE)
        code = build.poll()
        if told:
            break
    end_session(os.getpid())
    code = -signal.SIGTERM if code is None else code
    return code if code >= 0 else 128 - code


class SessionTree:
    """The processes of one build command: they are killed when this process exits.

    What they print goes into `log`.
    """

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: IO[bytes]
    ) -> None:
        program = files("tritonwin.build").joinpath("session.py").read_text("utf-8")
        self._leader = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    def poll(self) -> int | None:
        """Exit code of the command; None while it runs."""
        return self._leader.poll()

    def end(self) -> None:
        """End every process, wait for that, and free what the system keeps for the tree."""
        if self._leader.stdin:
            self._leader.stdin.close()
        try:
            self._leader.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._leader.kill()
            self._leader.wait(_LAST_WORDS)
        end_session(self._leader.pid)  # where the leader itself was killed

    def held(self) -> list[int]:
        """Bytes of each living process: resident on Linux, committed on Windows."""
        found = []
        for pid in members(self._leader.pid):
            with contextlib.suppress(OSError, ValueError, IndexError):
                pages = int((_PROC / str(pid) / "statm").read_text("ascii").split()[1])
                found.append(pages * _PAGE)
        return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
