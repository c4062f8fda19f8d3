"""The outcome of `tritonwin patch`, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from tritonwin.journal import Conflict
from tritonwin.output.documents import Target, ToolInfo, target_of
from tritonwin.output.journals import conflict_lines
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.patch.engine import Flavour, RuleState
from tritonwin.patch.records import (
    FileRefusal,
    FileReport,
    HookReport,
    Misfit,
    PatchOutcome,
    PatchStatus,
    RuleReport,
)


@dataclass(frozen=True, kw_only=True)
class PatchReport:
    """The document of `tritonwin patch status|diff|apply|revert`.

    `rules` and `files` are how they stand after the command; `changed` is what it changed, or with
    diff what apply would change.
    """

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"
    tool: ToolInfo
    target: Target | None  # None: --triton named the folder
    package: str
    flavour: Flavour
    version: str | None  # of Triton, as its __init__.py says
    status: PatchStatus
    rules: tuple[RuleReport, ...]
    files: tuple[FileReport, ...]
    changed: tuple[str, ...] = ()
    refused: tuple[FileRefusal, ...] = ()
    conflicts: tuple[Conflict, ...] = ()  # with diff and revert: changed by others since
    skipped: tuple[Misfit, ...] = ()  # rules that --allow-unknown could not apply
    unverified: tuple[str, ...] = ()  # changed files that no known release holds
    hook: HookReport | None = None
    journal: str | None = None
    diff: str | None = None
    notes: tuple[str, ...] = ()


_STYLES: dict[RuleState, str] = {
    "needed": "yellow",
    "applied": "green",
    "fixed-upstream": "green",
    "fixed-by-fork": "green",
    "not-applicable": "dim",
    "unknown": "bold red",
}
_WIDTH = max(map(len, _STYLES))
_VERDICTS = {
    "examined": "",
    "planned": "Nothing was changed yet. Do it: tritonwin patch apply",
    "applied": "Patched. To undo it: tritonwin patch revert",
    "reverted": "Everything is as it was before.",
    "nothing": "There is nothing to do.",
    "refused": "Nothing was changed.",
}


def document(outcome: PatchOutcome) -> PatchReport:
    report, plan = outcome.report, outcome.plan
    shown = plan.edits if plan and outcome.status == "planned" else None
    return PatchReport(
        tool=ToolInfo(),
        target=target_of(outcome.target),
        package=report.package,
        flavour=report.flavour,
        version=report.version,
        status=outcome.status,
        rules=report.rules,
        files=report.files,
        changed=outcome.changed,
        refused=plan.refused if plan else (),
        conflicts=outcome.conflicts,
        skipped=plan.skipped if plan else (),
        unverified=tuple(e.file for e in plan.edits if not e.known) if plan else (),
        hook=outcome.hook,
        journal=outcome.journal,
        diff=None if shown is None else "".join(edit.diff() for edit in shown),
        notes=outcome.notes,
    )


def print_outcome(outcome: PatchOutcome) -> None:
    """A line per rule, or what was changed, refused or left; then what to do."""
    out = console()
    for line in _lines(outcome):
        out.print(line, soft_wrap=True)


def _lines(outcome: PatchOutcome) -> Iterator[Text]:
    report = outcome.report
    whose = "triton-windows" if report.flavour == "fork" else "upstream's Triton"
    yield _plain(f"{whose} {report.version or ''} in {report.package}", "bold")
    if outcome.status == "examined":
        for rule in report.rules:
            yield from _rule(rule)
    if outcome.plan and outcome.status == "planned":
        for edit in outcome.plan.edits:
            yield from map(_diff_line, edit.diff().splitlines())
    else:
        yield from (_plain(f"  {_done(outcome)} {file}") for file in outcome.changed)
    for refusal in outcome.plan.refused if outcome.plan else ():
        yield from _refusal(refusal)
    for conflict in outcome.conflicts:
        yield from conflict_lines(conflict)
    yield from _closing(outcome)


def _rule(rule: RuleReport) -> Iterator[Text]:
    line = Text(f"  {rule.state:<{_WIDTH}}  ", _STYLES[rule.state])
    line.append(printable(f"{rule.id:<24}  {rule.file}"))
    yield line
    if rule.state in {"needed", "unknown"}:
        yield _plain(f"{'':<{_WIDTH + 6}}{rule.reason}", "dim")


def _diff_line(line: str) -> Text:
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
    return _plain(line, style)


def _done(outcome: PatchOutcome) -> str:
    return "restored" if outcome.status == "reverted" else "changed"


def _refusal(refusal: FileRefusal) -> Iterator[Text]:
    yield _plain(f"refused: {refusal.file}: {refusal.reason}", "yellow")
    yield _plain(f"      as released: {refusal.released}")
    if refusal.left:
        yield _plain(f"      as tritonwin left it: SHA-256 {refusal.left}")
    if refusal.found:
        yield _plain(f"      as it is: SHA-256 {refusal.found}")
    if refusal.fits:
        yield _plain(f"      rules that fit it all the same: {', '.join(refusal.fits)}")
    for misfit in refusal.misfits:
        yield _plain(f"      {misfit.rule} does not fit: {misfit.reason}")


def _closing(outcome: PatchOutcome) -> Iterator[Text]:
    plan = outcome.plan
    for misfit in plan.skipped if plan else ():
        yield _plain(f"left out: {misfit.rule}: {misfit.reason}", "yellow")
    unverified = [e.file for e in plan.edits if not e.known] if plan else []
    if unverified and not (plan and plan.refused):
        yield _plain(f"unverified, of no known release: {', '.join(unverified)}", "yellow")
    if outcome.hook:
        yield _plain(f"The import hook in {outcome.hook.folder} applies what is needed.")
    for note in outcome.notes:
        yield _plain(note)
    if outcome.status == "examined":
        yield _plain(_summary(outcome))
    elif outcome.status == "planned" and not outcome.changed:
        yield _plain(_VERDICTS["nothing"])
    else:
        yield _plain(_VERDICTS[outcome.status])
    if plan and plan.refused:
        yield _plain("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield _plain(
            "help: tritonwin undo --list shows the change; tritonwin undo ID --force undoes it "
            "and keeps what is there now beside it"
        )


def _summary(outcome: PatchOutcome) -> str:
    needed = len(outcome.report.of("needed"))
    unknown = len(outcome.report.of("unknown"))
    if outcome.hook or not needed + unknown:
        return "Nothing is needed."
    return f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff"


def _plain(text: str, style: str = "") -> Text:
    return Text(printable(text), style)
