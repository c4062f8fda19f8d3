"""A build for people: its plan, a bar or lines while it runs, how it ended; and its document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Literal

from tritonwin.build.records import GIB, BuildOutcome, BuildPlan, Event, Progress
from tritonwin.output.blocks import Block, Fold, Prose, TextLine, line, pairs
from tritonwin.output.documents import Document
from tritonwin.output.proof import of_rung, state_line
from tritonwin.output.terminal import Meter
from tritonwin.output.view import found, suspects

BuildStatus = Literal[
    "planned",
    "refused",
    "failed",
    "built",  # and proven as far as this machine can
    "unproven",  # there is a wheel, and something that was tried with it failed
]


@dataclass(frozen=True, kw_only=True)
class BuildReport(Document):
    """Output of `tritonwin build --json`: the plan with every reason, and its outcome."""

    schema: Literal["tritonwin.build/3"] = "tritonwin.build/3"
    status: BuildStatus
    plan: BuildPlan
    outcome: BuildOutcome | None = None


def report(plan: BuildPlan, outcome: BuildOutcome | None, *, possible: bool) -> BuildReport:
    status: BuildStatus = "planned" if possible else "refused"
    if outcome:
        status = "failed" if not outcome.wheel else "built" if outcome.proven else "unproven"
    return BuildReport(status=status, plan=plan, outcome=outcome)


def follow(meter: Meter, event: Event) -> None:
    """Show an event of a build while it runs."""
    if isinstance(event, str):
        meter.show(line(event, indent=2))
    else:
        meter.update(progress(event))


def progress(at: Progress) -> str:
    """ "12/73 files, 29 min left"."""
    left = "" if at.remaining is None else f", {duration(at.remaining)} left"
    return f"{at.done}/{at.total or '?'} files{left}"


def duration(seconds: float) -> str:
    """ "40 s", "29 min", "3 h 05 min"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def of_outcome(outcome: BuildOutcome) -> Iterator[Block]:
    """The wheel, what was tried with it and how it was built; of a failure how to go on."""
    if outcome.wheel is None:
        yield from _failure(outcome)
        return
    if outcome.proof:
        for step in outcome.proof.steps:
            yield state_line(step.state, step.name, step.detail)
        yield from chain.from_iterable(map(of_rung, outcome.proof.rungs))
    wheel, runs = PurePath(outcome.wheel), outcome.runs
    seconds = sum(run.seconds for run in runs)
    peak = max((run.peak_memory for run in runs), default=0)
    times = f" in {len(runs)} runs" if len(runs) > 1 else ""
    yield line(f"built in {duration(seconds)}{times}, {_gib(peak)} at the peak")
    yield line(f"log: {outcome.log}")
    yield line(f"made from: {outcome.info}")
    yield line(f"wheel: {wheel}")
    name = wheel.name.partition("-")[0].replace("_", "-")
    install = f'install: tritonwin install {name} --find-links "{wheel.parent}"'
    unproven = "The wheel is there, but it is not proven: see what failed above."
    yield line(install if outcome.proven else unproven)


def _gib(count: float) -> str:
    return f"{count / GIB:.1f} GiB"


def _failure(outcome: BuildOutcome) -> Iterator[Block]:
    yield line("The build failed.", "bad")
    yield from found(outcome.problems)
    if not outcome.problems:
        yield line("Its log shows no problem that tritonwin knows.")
        yield from suspects(outcome.suspicious)
    yield TextLine()
    yield line(f"log: {outcome.log}")
    if done := sum(run.steps for run in outcome.runs):
        yield line(
            f"{done} files are compiled and kept. When the cause is gone, go on with: --resume"
        )


# --- the plan


def of_build_plan(plan: BuildPlan) -> Iterator[Block]:
    """The obstacles, every choice, then the warnings; folded, the reason of each choice."""
    yield line(f"build {plan.distribution or plan.recipe} {plan.version}", "strong")
    for refusal in plan.refusals:
        about = f" [{refusal.problem}]" if refusal.problem else ""
        yield Prose(f"{refusal.message}{about}", label="refused: ", tone="bad", indent=0)
        if refusal.help:
            yield Prose(refusal.help, label="help: ", indent=2)
    rows: dict[str, str] = {}  # flags of one kind in one row
    for decision in plan.decisions:
        rows[decision.name] = " ".join(filter(None, (rows.get(decision.name), decision.value)))
    listed = [
        *rows.items(),
        *((f"edit {edit.file}", f"{edit.find} -> {edit.replace}") for edit in plan.edits),
        ("time", f"about {duration(plan.seconds)}" if plan.seconds else "not known"),
        ("disk", f"about {_gib(plan.disk_bytes)}"),
    ]
    yield pairs(listed)
    yield from (Prose(text, label="warning: ", tone="warning", indent=0) for text in plan.warnings)
    more = line("The reason of each choice, and the option that decides otherwise: --all", "faint")
    reasons = [
        *((d.name, f"{d.reason} ({d.flag})" if d.flag else d.reason) for d in plan.decisions),
        *((f"edit of {edit.file}", edit.reason) for edit in plan.edits),
    ]
    told = (Prose(text, label=f"{name}: ", tone="faint", indent=2) for name, text in reasons)
    yield Fold("Reasons", tuple(told), short=(more,))
