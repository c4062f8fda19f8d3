"""A build's processes on Linux: a session, led by a keeper that ends it when we are gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    raise ImportError("Windows has jobs for this")

import resource

from tritonwin.build import keeper

_LAST_WORDS = 10.0  # seconds for a keeper that was told to end


class SessionTree:
    """The processes of one build command; see `tritonwin.build.tree.Tree`."""

    def __init__(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: IO[bytes]
    ) -> None:
        program = files("tritonwin.build").joinpath("keeper.py").read_text("utf-8")
        self._before = _spent()
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, *command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )

    def poll(self) -> int | None:
        return self._keeper.poll()

    def end(self) -> None:
        if self._keeper.stdin:
            self._keeper.stdin.close()
        try:
            self._keeper.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait(_LAST_WORDS)
        keeper.end_session(self._keeper.pid)  # where the keeper itself was killed

    def pids(self) -> tuple[int, ...]:
        return tuple(keeper.members(self._keeper.pid))

    def cpu_seconds(self) -> float | None:
        return _spent() - self._before


def _spent() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
