"""A build for people: its plan, a bar or lines while it runs, how it ended; and its document."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePath
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.text import Text

from tritonwin.build.outcome import BuildOutcome, Event, Progress
from tritonwin.build.plan import GIB, BuildPlan
from tritonwin.output.documents import ToolInfo
from tritonwin.output.proof import of_rung
from tritonwin.output.terminal import Screen, console, print_problem
from tritonwin.output.text import printable

BuildStatus = Literal[
    "planned",
    "refused",
    "declined",
    "failed",
    "built",  # and proven as far as this machine can
    "unproven",  # there is a wheel, and something that was tried with it failed
]


@dataclass(frozen=True, kw_only=True)
class BuildReport:
    """Output of `tritonwin build --json`: the plan with every reason, and its outcome."""

    schema: Literal["tritonwin.build/3"] = "tritonwin.build/3"
    tool: ToolInfo = field(default_factory=ToolInfo)
    status: BuildStatus
    plan: BuildPlan
    outcome: BuildOutcome | None = None


_QUIET = 30.0  # seconds between two lines where nobody watches a bar
_PULSE = 300.0  # as long as no file gets done: CI engines end what says nothing for ten minutes
_STATES = {"passed": ("ok", "green"), "failed": ("FAILED", "bold red")}


class Follower(AbstractContextManager["Follower"]):
    """Shows the events of a build while it runs. Use it as a context; call it with each event."""

    def __init__(self, out: Console | None = None) -> None:
        self._out = out or console()
        self._bar: Bar | None = None
        self._said = -math.inf
        self._done = -1

    def __exit__(self, *_: object) -> None:
        self._end_bar()

    def __call__(self, event: Event) -> None:
        if isinstance(event, str):
            self._end_bar()
            self._out.print(Text(f"  {printable(event)}"), soft_wrap=True)
        elif self._out.is_terminal:
            self._draw(event)
        else:
            self._note(event)

    def _draw(self, at: Progress) -> None:
        if self._bar is None:
            columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
            self._bar = Bar(*columns, console=self._out, transient=True)
            self._bar.add_task("")
            self._bar.start()
        self._bar.update(
            self._bar.task_ids[0], description=line(at), completed=at.done, total=at.total
        )

    def _note(self, at: Progress) -> None:
        now = time.monotonic()
        if now - self._said >= (_PULSE if at.done == self._done else _QUIET):
            self._said, self._done = now, at.done
            self._out.print(Text(f"  {line(at)}"), soft_wrap=True)

    def _end_bar(self) -> None:
        if self._bar:
            self._bar.stop()
        self._bar = None


def line(at: Progress) -> str:
    """ "12/73 files, 2.1 a minute, 29 min left, 31.4 GiB, most of it cicc flash_bwd_....cu"."""
    parts = [f"{at.done}/{at.total or '?'} files"]
    if at.rate is not None:
        parts.append(f"{at.rate * 60:.1f} a minute")
    if at.remaining is not None:
        parts.append(f"{duration(at.remaining)} left")
    if at.memory is not None:
        parts.append(f"{at.memory / GIB:.1f} GiB")
    if at.heaviest:
        parts.append(f"most of it {printable(at.heaviest)}")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """ "40 s", "29 min", "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def print_outcome(outcome: BuildOutcome) -> None:
    """Print the outcome; of a failure the reason, the log and how to go on."""
    out = console()
    if outcome.wheel is None:
        _print_failure(out, outcome)
        return
    if outcome.proof:
        for step in outcome.proof.steps:
            word, style = _STATES.get(step.state, ("n/a", "dim"))
            row = Text.assemble((f"  {word:7}", style), f"  {printable(step.name)}")
            row.append(f"  ({printable(step.detail)})", "dim")
            out.print(row, soft_wrap=True)
        for result in outcome.proof.rungs:
            Screen(out).show(*of_rung(result))
    wheel, runs = PurePath(outcome.wheel), outcome.runs
    seconds = sum(run.seconds for run in runs)
    peak = max((run.peak_memory for run in runs), default=0)
    jobs = ", then ".join(str(number) for number, _ in groupby(run.jobs for run in runs))
    times = f" in {len(runs)} runs" if len(runs) > 1 else ""
    name = wheel.name.partition("-")[0].replace("_", "-")
    for text in (
        f"built in {duration(seconds)}{times} with {jobs} jobs, {peak / GIB:.1f} GiB at the peak",
        f"log: {outcome.log}",
        f"made from: {outcome.info}",
        f"wheel: {wheel}",
        f'install: tritonwin install {name} --find-links "{wheel.parent}"'
        if outcome.proven
        else "The wheel is there, but it is not proven: see what failed above.",
    ):
        out.print(Text(printable(text)), soft_wrap=True)


def _print_failure(out: Console, outcome: BuildOutcome) -> None:
    out.print(Text("The build failed.", "bold red"))
    for problem in outcome.problems:
        out.print()
        print_problem(out, problem)
    if not outcome.problems:
        out.print(Text("Its log shows no problem that tritonwin knows. Look at these lines first:"))
        for item in outcome.failed_step:
            out.print(Text(printable(f"    {item.where}: {item.text}")), soft_wrap=True)
    done = sum(run.steps for run in outcome.runs)
    out.print()
    out.print(Text(printable(f"log: {outcome.log}")), soft_wrap=True)
    if done:
        text = f"{done} files are compiled and kept. When the cause is gone, go on with: --resume"
        out.print(Text(text), soft_wrap=True)


# --- the plan


def print_build_plan(plan: BuildPlan) -> None:
    """Every choice with its reason and its flag, then what warns and what stands in the way."""
    out = console()
    out.print(Text(f"build {printable(plan.distribution or plan.recipe)} {plan.version}", "bold"))
    for text, style in _lines(plan):
        out.print(Text(printable(text), style), soft_wrap=True)


def _lines(plan: BuildPlan) -> Iterator[tuple[str, str]]:
    width = max((len(d.name) for d in plan.decisions), default=0)
    for decision in plan.decisions:
        yield f"  {decision.name:{width}}  {decision.value}", ""
        flag = f"  ({decision.flag})" if decision.flag else ""
        yield f"  {'':{width}}    {decision.reason}{flag}", "dim"
    for edit in plan.edits:
        yield f"  edit of {edit.file}: {edit.find} -> {edit.replace}", ""
        yield f"    {edit.reason}", "dim"
    time = f"about {duration(plan.seconds)}" if plan.seconds else "not known"
    yield f"  time    {time}", ""
    yield f"  disk    about {plan.disk_bytes / GIB:.1f} GiB", ""
    for warning in plan.warnings:
        yield f"warning: {warning}", "yellow"
    for refusal in plan.refusals:
        named = f" [{refusal.problem}]" if refusal.problem else ""
        yield f"refused: {refusal.message}{named}", "bold red"
        if refusal.help:
            yield f"help:    {refusal.help}", ""
