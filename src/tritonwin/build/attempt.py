"""One start of a build's command: watched, logged, and ended with all that it started.

And of one that failed: the step that did, and whether memory was lacking.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import islice, takewhile
from pathlib import Path
from typing import IO, Any, Protocol

from tritonwin.build.ninja import Counter
from tritonwin.build.outcome import BuildRun, Ending, Progress
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.records import Evidence

_PAUSE = 0.1  # seconds between two looks at the log
_SAMPLE = 1.0  # seconds between two looks at the memory
# Ids of the catalogue whose cure is fewer compilers at once.
_OUT_OF_MEMORY = frozenset({"build-resource-limits"})
_KILLED = 128 + 9  # how a keeper passes SIGKILL on; nobody but the system for want of memory
_FAILED = "FAILED: "
_MOST_LINES = 20  # of what a failed step printed; templates can print thousands
_LONGEST = 500  # characters of a line
_TAIL = 64 * 1024  # bytes of a log in which no step failed


class ProcessTree(Protocol):
    """The processes of one build command: they are killed when this process exits."""

    def poll(self) -> int | None:
        """Exit code of the command; None while it runs."""

    def end(self) -> None:
        """End every process, wait for that, and free what the system keeps for the tree."""

    def held(self) -> list[tuple[str, int]]:
        """Names and bytes of the living processes: resident on Linux, committed on Windows."""

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
                            jobs=run.jobs,
                            seconds=run.seconds,
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
            follow(reader, ending=ending, cpu_seconds=tree.cpu_seconds())
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


def failed_step(log: Path) -> tuple[Evidence, ...]:
    """The output of the first failed step, without its command; empty if none failed.

    A log holds what programs printed; what is taken from it goes without secrets.
    """
    # pip indents what a build prints
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    first = next((n for n, line in enumerate(lines) if line.startswith(_FAILED)), None)
    if first is None:
        return ()
    said = takewhile(
        lambda n: not lines[n].startswith(("[", _FAILED, "ninja: ")), range(first + 2, len(lines))
    )
    return tuple(
        Evidence(text=hide_secrets(lines[n][:_LONGEST]), where=f"line {n + 1}")
        for n in [first, *islice(said, _MOST_LINES)]
    )


def is_out_of_memory(log: Path, code: int) -> bool:
    """True if fewer jobs would help, by the output of the first failed step.

    What was said before it was no reason to stop, such as a note that ninja is missing.
    """
    if code == _KILLED:
        return True
    content = log.read_bytes()
    start_of_failure = content.find(_FAILED.encode())
    text = content[start_of_failure if start_of_failure >= 0 else -_TAIL :]
    found = explain_lines(text.decode("utf-8", "replace").splitlines())
    return any(_OUT_OF_MEMORY & {p.id, *p.explains} for p in found.problems)
