"""A planned build for people, and the documents of `tritonwin build`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tritonwin.build.fleet import Fleet, IndexedWheel
from tritonwin.build.outcome import BuildOutcome
from tritonwin.build.plan import GIB, BuildPlan
from tritonwin.output.build_documents import BuildReport, BuildStatus, FleetReport, WheelIndex
from tritonwin.output.building import duration
from tritonwin.output.documents import Tool
from tritonwin.output.terminal import console
from tritonwin.output.text import printable


def report(
    plan: BuildPlan, status: BuildStatus, outcome: BuildOutcome | None = None
) -> BuildReport:
    """What `--json` prints."""
    found = outcome.explanation if outcome else None
    return BuildReport(
        tool=Tool(),
        status=status,
        plan=plan,
        wheel=str(outcome.wheel) if outcome and outcome.wheel else None,
        info=outcome.info if outcome else None,
        rungs=outcome.proof.rungs if outcome and outcome.proof else (),
        log=str(outcome.log) if outcome else None,
        problems=found.problems if found else (),
    )


def outcome_report(plan: BuildPlan, outcome: BuildOutcome) -> BuildReport:
    """What `--json` prints of a build that was carried out."""
    if outcome.wheel is None:
        return report(plan, "failed", outcome)
    return report(plan, "built" if outcome.proven else "unproven", outcome)


def fleet_report(fleet: Fleet) -> FleetReport:
    return FleetReport(tool=Tool(), include=fleet.jobs, dropped=fleet.dropped)


def wheel_index(wheels: tuple[IndexedWheel, ...]) -> WheelIndex:
    return WheelIndex(wheels=wheels)


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
