"""Carry a plan out: everything in its place, then the command, until a wheel is there and proven.

Finished work is kept: a run that lacked memory goes on with fewer jobs, and an interrupted one goes
on where it stopped, since the build folder, the build environment and ninja's log stay as they are.

The steps of a run are counted by the output of ninja and by ninja's own log.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from tritonwin.build import source, venv, wheel
from tritonwin.build.command import argv, environment, inherited
from tritonwin.build.records import (
    BuildOutcome,
    BuildPlan,
    BuildRun,
    Ending,
    Progress,
)
from tritonwin.build.source import BuildContext, is_project
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.journal.disk import discard, is_real_folder
from tritonwin.journal.store import locked
from tritonwin.problems.explain import explain_lines, explain_stream
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.files import is_file, paths_in, read_text, replace_whole

if sys.platform == "win32":
    from tritonwin.build.job import JobTree as ProcessTree
else:
    from tritonwin.build.session import SessionTree as ProcessTree

_PAUSE = 0.1  # seconds between two looks at the log
_SAMPLE = 1.0  # seconds between two looks at the memory
_OUT_OF_MEMORY = "build-resource-limits"  # the problem whose cure is fewer compilers at once
_KILLED = 128 + 9  # how a keeper passes SIGKILL on; nobody but the system for want of memory
_TAIL = 64 * 1024  # bytes of a log in which no step failed

# NINJA_STATUS, as `command` sets it; pip indents what a build prints
_STEP = re.compile(r" {0,4}\[(\d{1,7})/(\d{1,7})\] ")
_FAILED_STEP = re.compile(r" {0,4}FAILED: ")
_MILLISECONDS = re.compile(r"[0-9]{1,12}")
_FIELDS = 5  # start, end (ms), modification time, output, hash of the command


def make(plan: BuildPlan, context: BuildContext, *, resume: bool = False) -> BuildOutcome:
    """Build the wheel, give it its local version, prove it, and describe it in a file beside it.

    Exactly this plan is carried out; nothing is planned again.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    built = build(plan, context, resume=resume)
    if built.wheel is None:
        return built
    tagged = wheel.tagged(Path(built.wheel), plan.local_version)
    proof = wheel.prove(plan, tagged, context.pip(), on_event=context.on_event)
    info = wheel.describe(plan, tagged, built.runs, venv.installed(plan.layout.python), proof)
    path = wheel.write_info(info, tagged.parent, Redactor.this_machine(context.host))
    return replace(built, wheel=str(tagged), proof=proof, info=str(path))


def build(plan: BuildPlan, context: BuildContext, *, resume: bool = False) -> BuildOutcome:
    """Build the wheel as the command makes it: neither tagged nor proven.

    Interrupted, it leaves what a later call with `resume` goes on with.

    Raises:
        UserError: the plan cannot be carried out here, or an unfinished build is in its folder.
    """
    root = plan.layout.root
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"the build folder {root} cannot be made: {error.strerror or error}",
            "Name another one: --root DIR",
        ) from None
    with locked(plan.layout.lock, str(root), wait=0):
        if not resume:
            _begin(plan)
        runs = _compile(plan, context, _prepare(plan, context))
        log = root / runs[-1].log
        outcome = BuildOutcome(runs=runs, log=str(log))
        if runs[-1].ending == "finished":
            return replace(outcome, wheel=str(_wheel(plan, log)))
        with log.open("rb") as stream:
            found = explain_stream(stream, context.facts)
        return replace(outcome, problems=found.problems, suspicious=found.suspicious)


def _begin(plan: BuildPlan) -> None:
    """Make room for a build, unless hours of work are there."""
    layout = plan.layout
    runs = read_runs(plan)
    if runs and runs[-1].ending != "finished" and (done := len(finished(layout.source))):
        raise UserError(
            f"{layout.root} holds an unfinished build, {done} steps of which are done",
            "Go on with it: --resume. To start over, remove that folder.",
        )
    for folder in (layout.source, layout.venv, layout.dist, layout.temp):
        discard(folder)
    for log in paths_in(layout.root, "build-*.log"):
        log.unlink()
    store(layout.state, ())


def _prepare(plan: BuildPlan, context: BuildContext) -> Mapping[str, str]:
    """Put everything in its place; the captured environment of the command."""
    layout, on_event = plan.layout, context.on_event
    captured = inherited(plan, context.host)
    store(layout.plan, plan)
    for folder in (layout.source, layout.venv, layout.temp, layout.dist):
        if not is_real_folder(folder):  # a link would have others' files changed
            discard(folder)
    on_event("source")
    source.prepare(plan, context)
    if not is_project(plan.project):
        raise UserError(
            f"{plan.source.location} holds neither setup.py nor pyproject.toml",
            "Name the project itself: --source DIR, or another commit: --ref REF",
        )
    if plan.cuda and plan.cuda.origin == "assembled":
        on_event(f"CUDA {plan.cuda.version}")
        source.assemble(plan.cuda.parts, Path(plan.cuda.path), context)
    on_event("build environment")
    venv.make(plan.target, layout.venv, plan.runtime)
    python = str(layout.python)
    wanted = venv.missing(plan.requirements, venv.installed(python))
    if wanted:
        on_event(f"installing {', '.join(wanted)}")
        venv.install(python, context.pip(), wanted, context.pip_options)
    for folder in (layout.temp, layout.dist):
        folder.mkdir(exist_ok=True)
    return captured


def _compile(
    plan: BuildPlan, context: BuildContext, captured: Mapping[str, str]
) -> tuple[BuildRun, ...]:
    """Run the command until it succeeds or fails for something that fewer jobs do not cure."""
    layout = plan.layout
    while True:
        earlier = read_runs(plan)
        jobs = next_jobs(earlier, plan.jobs)
        # what an interrupted run may have left and a new one would trust
        for path in paths_in(layout.dist, "*.whl"):
            path.unlink()
        for path in remove_damaged(finished(layout.source)):
            context.on_event(f"{path.name} is cut short: compiled again")
        log = layout.root / f"build-{len(earlier) + 1}.log"
        totals = (run.total for run in reversed(earlier) if run.total)
        counter = Counter(
            before=len(finished(layout.source)),
            planned=plan.compile_steps or next(totals, None),
        )
        context.on_event(f"compiling with {jobs} jobs; log: {log}")
        run, code = _carry_out(
            plan.with_jobs(jobs),
            context,
            captured,
            BuildRun(jobs=jobs, log=log.name),
            counter,
            note=partial(_note, plan, earlier),
        )
        if run.ending == "failed" and is_out_of_memory(log, code):
            run = replace(run, ending="out-of-memory")
        runs = _note(plan, earlier, run)
        # a single job that got further than the last one may succeed where others left it room
        if run.ending != "out-of-memory" or (jobs == 1 and not run.steps):
            return runs
        fewer = next_jobs(runs, plan.jobs)
        context.on_event(f"out of memory with {jobs} jobs: going on with {fewer}")


def _note(plan: BuildPlan, earlier: tuple[BuildRun, ...], run: BuildRun) -> tuple[BuildRun, ...]:
    runs = (*earlier, run)
    store(plan.layout.state, runs)
    return runs


def next_jobs(runs: Sequence[BuildRun], planned: int) -> int:
    """Jobs of the next run: fewer than the last, if memory did not suffice."""
    if not runs:
        return planned
    last = runs[-1]
    return min(planned, max(1, last.jobs // 2) if last.ending == "out-of-memory" else last.jobs)


def _wheel(plan: BuildPlan, log: Path) -> Path:
    wheels = [path for path in paths_in(plan.layout.dist, "*.whl") if is_file(path)]
    if len(wheels) != 1:
        raise UserError(
            f"the build ended well, but {plan.layout.dist} holds {len(wheels)} wheels, not one",
            f"Look at its log: {log}",
        )
    return wheels[0]


# --- what a build folder remembers between runs


def store(path: Path, document: BuildPlan | tuple[BuildRun, ...]) -> None:
    """Write `Layout.plan`, or `Layout.state`, the runs, for a later `--resume`."""
    replace_whole(path, json.dumps(to_json(document), indent=1).encode())


def read_plan(path: Path) -> BuildPlan:
    """The stored plan, `Layout.plan`, of the build in a folder.

    Raises:
        UserError: there is none, or it is damaged.
    """
    if not is_file(path):
        raise UserError(
            f"no build was begun in {path.parent}",
            "Begin one without --resume, or name its folder: --root DIR",
        )
    try:
        return from_json(BuildPlan, parse(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be used: {error}", "Remove the folder and start over without --resume."
        ) from None


def read_runs(plan: BuildPlan) -> tuple[BuildRun, ...]:
    """The runs of the build, oldest first; empty if that is not known."""
    try:
        return from_json(tuple[BuildRun, ...], parse(read_text(plan.layout.state) or ""), "runs")
    except ValueError:
        return ()


# --- one start of the command: watched, logged, and ended with all that it started


def _carry_out(
    plan: BuildPlan,
    context: BuildContext,
    captured: Mapping[str, str],
    run: BuildRun,
    counter: Counter,
    *,
    note: Callable[[BuildRun], object],
) -> tuple[BuildRun, int]:
    """Run the command to its end; the run as it went, and the exit code.

    When this is interrupted, so is the command.

    Args:
        run: the numbers of its jobs and its log, a new file.
        counter: counts the steps that the log tells of.
        note: called with the run so far, once a second and at its end, to store it.

    Raises:
        OSError: it cannot be started.
    """
    log, env = plan.layout.root / run.log, environment(plan, context.host, captured)
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
        tree = ProcessTree(argv(plan), env=env, cwd=plan.project, log=stream)
        ending: Ending = "interrupted"
        try:
            while (code := tree.poll()) is None:
                if time.monotonic() - sampled >= _SAMPLE:
                    sampled = time.monotonic()
                    memory = sum(tree.held())
                    follow(reader, peak_memory=max(run.peak_memory, memory))
                    note(run)
                    context.on_event(
                        Progress(
                            done=counter.done,
                            total=counter.total,
                            remaining=remaining(counter, run.jobs, run.seconds),
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
    return any(_OUT_OF_MEMORY in {p.id, *p.explains} for p in found.problems)


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


def finished(folder: Path) -> tuple[Path, ...]:
    """Every output below a folder that ninja has finished and that is still there, each once.

    ninja itself takes a step for finished if, and only if, it stands in its `.ninja_log`, of
    version 5 to 7. A log that came with the source may name any file: others do not count.
    """
    home = os.path.realpath(folder)

    def is_output(path: Path) -> bool:
        return is_file(path) and Path(os.path.realpath(path)).is_relative_to(home)

    found = dict[Path, None]()
    for log in sorted(folder.rglob(".ninja_log")):
        for line in (read_text(log) or "").splitlines():
            fields = line.split("\t")
            if len(fields) == _FIELDS and all(map(_MILLISECONDS.fullmatch, fields[:2])):
                found[log.parent / fields[3]] = None
    return tuple(filter(is_output, found))


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
