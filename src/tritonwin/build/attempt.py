"""One start of a build's command: watched, logged, and ended with all that it started."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import IO, Protocol

from tritonwin.build.ninja import Counter
from tritonwin.build.outcome import BuildRun, Ending, Progress

_PAUSE = 0.1  # seconds between two looks at the log
_SAMPLE = 0.5  # seconds between two looks at the memory
_NOTE = 2.0  # seconds between two notes of how far the run is
_SOURCE = re.compile(r"([^\\/\s\"']{1,200}\.(?:cu|cpp|cc|cxx|c))(?=[\s\"']|$)", re.IGNORECASE)
# what starts compilers; it holds little, and its command line names the source as theirs does
_DRIVERS = frozenset({"nvcc", "ninja", "sh", "cmd", "python", "ccache", "sccache"})


class ProcessTree(Protocol):
    """The processes of one build command: they are killed when this process exits."""

    def poll(self) -> int | None:
        """Exit code of the command; None while it runs."""

    def end(self) -> None:
        """End every process, wait for that, and free what the system keeps for the tree."""

    def pids(self) -> tuple[int, ...]:
        """The living processes, in no order."""

    def memory(self, pid: int) -> tuple[str, int] | None:
        """Name of a process and its bytes, resident on Linux, committed on Windows."""

    def command_line(self, pid: int) -> str:
        """The command line of a process; empty where it is not known."""

    def cpu_seconds(self) -> float | None:
        """Processor time of all processes that have ended; None where it is not known."""


def start(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: IO[bytes]
) -> ProcessTree:
    """Start a program with all that it will start; what they print goes into `log`.

    Raises:
        OSError: it cannot be started.
        ValueError: the program is not an absolute path.
    """
    if not Path(command[0]).is_absolute():
        raise ValueError(f"not an absolute path: {command[0]}")
    if sys.platform == "win32":
        from tritonwin.build.job import JobTree

        return JobTree(command, env=env, cwd=cwd, log=log)
    else:
        from tritonwin.build.session import SessionTree

        program = files("tritonwin.build").joinpath("session.py").read_text("utf-8")
        return SessionTree(command, env=env, cwd=cwd, log=log, program=program)


def sample(tree: ProcessTree) -> tuple[int, str]:
    """Bytes that the processes hold, and the heaviest: "cicc flash_bwd_hdim256_bf16_sm80.cu"."""
    held = [(pid, *found) for pid in tree.pids() if (found := tree.memory(pid)) is not None]
    compilers = [each for each in held if each[1] not in _DRIVERS]
    heaviest = ""
    if compilers:
        pid, name, _ = max(compilers, key=lambda each: each[2])
        heaviest = f"{name} {source_in(tree.command_line(pid))}".strip()
    return sum(memory for _, _, memory in held), heaviest


def source_in(command_line: str) -> str:
    """The name of the last source file that a command line names; empty where it names none."""
    found = _SOURCE.findall(command_line)
    return found[-1] if found else ""


class Attempt:
    """A run of the command.

    Args:
        counter: counts the steps that the log tells of.
        on_progress: called twice a second.
        note: called with the run so far, now and then and at its end, to store it.
    """

    def __init__(
        self,
        run: BuildRun,
        counter: Counter,
        on_progress: Callable[[Progress], None],
        note: Callable[[BuildRun], None],
    ) -> None:
        self.run = run
        self._counter = counter
        self._on_progress = on_progress
        self._note = note
        self._started = time.monotonic()
        self._sampled = self._noted = 0.0
        self._rest = b""

    def carry_out(
        self, command: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
    ) -> int:
        """Run the command to its end; its exit code. When this is interrupted, so is the run.

        Raises:
            OSError: it cannot be started.
        """
        with log.open("ab") as stream, log.open("rb") as reader:
            reader.seek(0, 2)
            tree = start(command, env=env, cwd=cwd, log=stream)
            ending: Ending = "interrupted"
            try:
                code = self._follow(tree, reader)
                ending = "finished" if code == 0 else "failed"
            finally:
                tree.end()
                self._read(reader)
                self._update(ending=ending, cpu_seconds=tree.cpu_seconds())
                self._note(self.run)
        return code

    def _follow(self, tree: ProcessTree, reader: IO[bytes]) -> int:
        while (code := tree.poll()) is None:
            self._read(reader)
            now = time.monotonic()
            if now - self._sampled >= _SAMPLE:
                self._sampled = now
                self._look(tree)
            if now - self._noted >= _NOTE:
                self._noted = now
                self._note(self.run)
            time.sleep(_PAUSE)
        return code

    def _read(self, reader: IO[bytes]) -> None:
        """Take in the whole lines that the log has grown by."""
        *lines, self._rest = (self._rest + reader.read()).split(b"\n")
        for line in lines:
            self._counter.feed(line.decode("utf-8", "replace").rstrip("\r"))

    def _update(self, **fields: object) -> None:
        seconds = round(time.monotonic() - self._started, 2)
        known = {"seconds": seconds, "steps": self._counter.done_now, "total": self._counter.total}
        self.run = replace(self.run, **known, **fields)  # type: ignore[arg-type]

    def _look(self, tree: ProcessTree) -> None:
        memory, heaviest = sample(tree)
        self._update(peak_memory=max(self.run.peak_memory, memory))
        counter, seconds = self._counter, time.monotonic() - self._started
        self._on_progress(
            Progress(
                done=counter.done,
                total=counter.total,
                jobs=self.run.jobs,
                seconds=seconds,
                rate=counter.done_now / seconds if counter.done_now else None,
                remaining=remaining(counter, self.run.jobs, seconds),
                memory=memory,
                heaviest=heaviest,
            )
        )


def remaining(counter: Counter, jobs: int, seconds: float) -> float | None:
    """Seconds to go, if the rest goes as before. A step that runs is taken for half done."""
    if counter.total is None or not counter.done_now:
        return None
    left = max(0, counter.total - counter.done)
    under_way = min(jobs, left) / 2
    return seconds * (left - under_way) / (counter.done_now + under_way)
