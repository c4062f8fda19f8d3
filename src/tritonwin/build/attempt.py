"""One start of a build's command: watched, logged, and ended with all that it started."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from tritonwin.build import tree, watch
from tritonwin.build.ninja import Counter
from tritonwin.build.outcome import Progress
from tritonwin.build.state import Ending, Run

_PAUSE = 0.1  # seconds between two looks at the log
_SAMPLE = 0.5  # seconds between two looks at the memory
_NOTE = 2.0  # seconds between two notes of how far the run is


class Attempt:
    """A run of the command.

    Args:
        counter: counts the steps that the log tells of.
        tell: given the progress, twice a second.
        note: given the run as it stands, now and then and at its end, to be kept.
    """

    def __init__(
        self,
        run: Run,
        counter: Counter,
        tell: Callable[[Progress], None],
        note: Callable[[Run], None],
    ) -> None:
        self._run = run
        self._counter = counter
        self._tell = tell
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
            started = tree.start(command, env=env, cwd=cwd, log=stream)
            try:
                code = self._follow(started, reader)
            except BaseException:
                started.end()
                self._read(reader)
                self._finish(started, "interrupted")
                raise
            started.end()
            self._read(reader)
            self._finish(started, "finished" if code == 0 else "failed")
        return code

    def _follow(self, started: tree.Tree, reader: IO[bytes]) -> int:
        while (code := started.poll()) is None:
            self._read(reader)
            now = time.monotonic()
            if now - self._sampled >= _SAMPLE:
                self._sampled = now
                self._look(started)
            if now - self._noted >= _NOTE:
                self._noted = now
                self._note(self._run)
            time.sleep(_PAUSE)
        return code

    def _read(self, reader: IO[bytes]) -> None:
        """Take in the whole lines that the log has grown by."""
        *lines, self._rest = (self._rest + reader.read()).split(b"\n")
        for line in lines:
            self._counter.feed(line.decode("utf-8", "replace").rstrip("\r"))

    def _look(self, started: tree.Tree) -> None:
        found = watch.sample(started.pids())
        seconds = time.monotonic() - self._started
        self._run = replace(
            self._run,
            seconds=round(seconds, 2),
            peak_memory=max(self._run.peak_memory, found.memory),
            steps=self._counter.done_now,
            total=self._counter.total,
        )
        self._tell(
            Progress(
                done=self._counter.done,
                total=self._counter.total,
                jobs=self._run.jobs,
                seconds=seconds,
                rate=self._counter.done_now / seconds if self._counter.done_now else None,
                remaining=remaining(self._counter, self._run.jobs, seconds),
                memory=found.memory,
                heaviest=found.heaviest,
            )
        )

    def _finish(self, started: tree.Tree, ending: Ending) -> None:
        self._run = replace(
            self._run,
            ending=ending,
            seconds=round(time.monotonic() - self._started, 2),
            cpu_seconds=started.cpu_seconds(),
            steps=self._counter.done_now,
            total=self._counter.total,
        )
        self._note(self._run)

    @property
    def run(self) -> Run:
        return self._run


def remaining(counter: Counter, jobs: int, seconds: float) -> float | None:
    """Seconds to go, if the rest goes as what is done. A step that runs is taken for half done."""
    if counter.total is None or not counter.done_now:
        return None
    left = max(0, counter.total - counter.done)
    under_way = min(jobs, left) / 2
    return seconds * (left - under_way) / (counter.done_now + under_way)
