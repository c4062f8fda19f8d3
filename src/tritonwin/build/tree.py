"""A build's processes as one: started together, ended together, gone when we are gone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Protocol


class Tree(Protocol):
    """The processes of one build command."""

    def poll(self) -> int | None:
        """Exit code of the command; None while it runs."""

    def end(self) -> None:
        """End every process, wait for that, and give back what the system keeps for the tree."""

    def pids(self) -> tuple[int, ...]:
        """The living processes, in no order."""

    def cpu_seconds(self) -> float | None:
        """Processor time of all processes that have ended; None where it is not known."""


def start(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: IO[bytes]) -> Tree:
    """Start a program with all that it will start; what they print goes into `log`.

    Raises:
        OSError: it cannot be started.
        ValueError: the program is no absolute path.
    """
    if not Path(command[0]).is_absolute():
        raise ValueError(f"not an absolute path: {command[0]}")
    if sys.platform == "win32":
        from tritonwin.build.job import JobTree

        return JobTree(command, env=env, cwd=cwd, log=log)
    else:
        from tritonwin.build.session import SessionTree

        return SessionTree(command, env=env, cwd=cwd, log=log)
