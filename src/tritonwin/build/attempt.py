"""One start of a build's command: watched, logged, and ended with all that it started.

Its steps are counted by the output of ninja and by ninja's own log.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, Protocol

from tritonwin.build.outcome import BuildRun, Ending, Progress
from tritonwin.problems.explain import explain_lines
from tritonwin.system.files import is_file

_PAUSE = 0.1  # seconds between two looks at the log
_SAMPLE = 1.0  # seconds between two looks at the memory
# Ids of the catalogue whose cure is fewer compilers at once.
_OUT_OF_MEMORY = frozenset({"build-resource-limits"})
_KILLED = 128 + 9  # how a keeper passes SIGKILL on; nobody but the system for want of memory
_TAIL = 64 * 1024  # bytes of a log in which no step failed

STATUS = "[%f/%t] "  # NINJA_STATUS, whatever the user's own says
# pip indents what a build prints
_STEP = re.compile(r" {0,4}\[(\d{1,7})/(\d{1,7})\] ")
_FAILED_STEP = re.compile(r" {0,4}FAILED: ")
_MILLISECONDS = re.compile(r"[0-9]{1,12}")
_FIELDS = 5  # start, end (ms), modification time, output, hash of the command


class ProcessTree(Protocol):
    """The processes of one build command: they are killed when this process exits."""

    def poll(self) -> int | None:
        """Exit code of the command; None while it runs."""

    def end(self) -> None:
        """End every process, wait for that, and free what the system keeps for the tree."""

    def held(self) -> list[tuple[str, int]]:
        """Names and bytes of the living processes: resident on Linux, committed on Windows."""


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


def carry_out(
    command: Sequence[str],
    log: Path,
    run: BuildRun,
    counter: Counter,
    *,
    env: Mapping[str, str],
    cwd: Path,
    on_progress: Callable[[Progress], None],
    note: Callable[[BuildRun], object],
) -> tuple[BuildRun, int]:
    """Run the command to its end; the run as it went, and the exit code.

    When this is interrupted, so is the command.

    Args:
        log: a new file.
        run: the numbers of its jobs and its log.
        counter: counts the steps that the log tells of.
        on_progress: called once a second.
        note: called with the run so far, once a second and at its end, to store it.

    Raises:
        OSError: it cannot be started.
    """
    started = time.monotonic()
    rest, code, sampled = b"", None, 0.0

    def follow(reader: IO[bytes], **fields: Any) -> None:
        """Take in the whole lines that the log has grown by."""
        nonlocal rest, run
        *lines, rest = (rest + reader.read()).split(b"\n")
        for line in lines:
            counter.feed(line.decode("utf-8", "replace").rstrip("\r"))
        seconds = round(time.monotonic() - started, 2)
        run = replace(run, seconds=seconds, steps=counter.done_now, total=counter.total, **fields)

    with log.open("wb") as stream, log.open("rb") as reader:
        tree = start(command, env=env, cwd=cwd, log=stream)
        ending: Ending = "interrupted"
        try:
            while (code := tree.poll()) is None:
                if time.monotonic() - sampled >= _SAMPLE:
                    sampled = time.monotonic()
                    held = tree.held()
                    memory = sum(size for _, size in held)
                    heaviest, _ = max(held, key=lambda each: each[1], default=("", 0))
                    follow(reader, peak_memory=max(run.peak_memory, memory))
                    note(run)
                    on_progress(
                        Progress(
                            done=counter.done,
                            total=counter.total,
                            rate=run.steps / run.seconds if run.steps and run.seconds else None,
                            remaining=remaining(counter, run.jobs, run.seconds),
                            memory=memory,
                            heaviest=heaviest,
                        )
                    )
                time.sleep(_PAUSE)
            ending = "finished" if code == 0 else "failed"
        finally:
            tree.end()
            follow(reader, ending=ending)
            note(run)
    return run, code


def remaining(counter: Counter, jobs: int, seconds: float) -> float | None:
    """Seconds to go, if the rest goes as before. A step that runs is taken for half done."""
    if counter.total is None or not counter.done_now:
        return None
    left = max(0, counter.total - counter.done)
    under_way = min(jobs, left) / 2
    return seconds * (left - under_way) / (counter.done_now + under_way)


# --- why a run failed


def is_out_of_memory(log: Path, code: int) -> bool:
    """True if fewer jobs would help, by the output of the first failed step.

    What was said before it was no reason to stop, such as a note that ninja is missing.
    """
    if code == _KILLED:
        return True
    content = log.read_bytes()
    start_of_failure = content.find(b"FAILED: ")
    text = content[start_of_failure if start_of_failure >= 0 else -_TAIL :]
    found = explain_lines(text.decode("utf-8", "replace").splitlines())
    return any(_OUT_OF_MEMORY & {p.id, *p.explains} for p in found.problems)


# --- the steps that ninja tells of


@dataclass
class Counter:
    """Steps done and to do, over all runs of ninja that a build has.

    ninja counts only what it still has to do, and starts at zero for every extension.

    Attributes:
        before: steps that earlier runs of the build have finished.
        planned: steps in all, where the recipe knows.
    """

    before: int = 0
    planned: int | None = None
    _ended: int = 0  # steps of ninjas that have ended
    _step: int = 0
    _of: int = 0
    _failures: int = 0

    def feed(self, line: str) -> None:
        """Take in a line of the build's output."""
        if step := _STEP.match(line):
            number, of = int(step[1]), int(step[2])
            if number <= self._step or of != self._of:
                self._ended += self._step
            self._step, self._of = number, of
        elif _FAILED_STEP.match(line):
            self._failures += 1

    @property
    def done(self) -> int:
        return self.before + self.done_now

    @property
    def done_now(self) -> int:
        """Steps that this run has finished. ninja counts those that failed as well."""
        return max(0, self._ended + self._step - self._failures)

    @property
    def total(self) -> int | None:
        """Steps of all runs; None before anybody has said how many there are."""
        if self._of:
            return max(self.planned or 0, self.before + self._ended + self._of)
        return self.planned


def read_log(text: str) -> tuple[str, ...]:
    """The outputs in a `.ninja_log` of version 5 to 7, each once; other lines are skipped.

    ninja itself takes a step for finished if, and only if, it stands here.
    """
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(
        dict.fromkeys(
            fields[3]
            for fields in rows
            if len(fields) == _FIELDS and all(map(_MILLISECONDS.fullmatch, fields[:2]))
        )
    )


def finished(folder: Path) -> tuple[Path, ...]:
    """Every output below a folder that ninja has finished and that is still there."""
    return tuple(
        log.parent / output
        for log in sorted(folder.rglob(".ninja_log"))
        if is_file(log)
        for output in read_log(log.read_text("utf-8", "replace"))
        if is_file(log.parent / output)
    )


def remove_damaged(outputs: Iterable[Path]) -> Iterator[Path]:
    """Remove outputs that are empty or begin with zeros, so that ninja makes them again.

    ninja's word that it finished one can reach the disk before the file does: a machine that loses
    its power then leaves such a file, which looks finished.
    """
    for path in outputs:
        with path.open("rb") as stream:
            damaged = not stream.read(64).strip(b"\0")
        if damaged:
            path.unlink(missing_ok=True)
            yield path
