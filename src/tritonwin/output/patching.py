"""The outcome of `tritonwin patch`, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

from tritonwin.facts.records import Interpreter
from tritonwin.output.documents import TargetDocument, ToolInfo, target_of
from tritonwin.output.journals import conflict_lines
from tritonwin.output.terminal import console
from tritonwin.output.text import printable
from tritonwin.patch.engine import RuleState
from tritonwin.patch.records import FileRefusal, HookReport, PatchOutcome, RuleReport


@dataclass(frozen=True, kw_only=True)
class PatchReport(PatchOutcome, TargetDocument):
    """The document of `tritonwin patch status|diff|apply|revert`."""

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"


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


def document(outcome: PatchOutcome, target: Interpreter | None) -> PatchReport:
    """The document; no target: --triton named the folder."""
    return PatchReport(tool=ToolInfo(), target=target_of(target), **vars(outcome))


def print_outcome(outcome: PatchOutcome) -> None:
    """A line per rule, or what was changed, refused or left; then what to do."""
    out = console()
    for line in _lines(outcome):
        out.print(line, soft_wrap=True)


def _lines(outcome: PatchOutcome) -> Iterator[Text]:
    whose = "triton-windows" if outcome.flavour == "fork" else "upstream's Triton"
    yield _plain(f"{whose} {outcome.version or ''} in {outcome.package}", "bold")
    if outcome.status == "examined":
        for rule in outcome.rules:
            yield from _rule(rule)
    if outcome.diff is not None:
        yield from map(_diff_line, outcome.diff.splitlines())
    else:
        done = "restored" if outcome.status == "reverted" else "changed"
        yield from (_plain(f"  {done} {file}") for file in outcome.changed)
    for refusal in outcome.refused:
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
    for misfit in outcome.skipped:
        yield _plain(f"left out: {misfit.rule}: {misfit.reason}", "yellow")
    if outcome.unverified and not outcome.refused:
        yield _plain(f"unverified, of no known release: {', '.join(outcome.unverified)}", "yellow")
    if hook := outcome.hook:
        yield _plain(f"The import hook in {hook.folder} {_state(hook)}")
    yield from map(_plain, outcome.notes)
    if outcome.status == "examined":
        needed, unknown = len(outcome.of("needed")), len(outcome.of("unknown"))
        yield _plain(
            f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff"
            if needed + unknown and not outcome.hooked
            else "Nothing is needed."
        )
    else:
        planned_nothing = outcome.status == "planned" and not outcome.changed
        yield _plain(_VERDICTS["nothing" if planned_nothing else outcome.status])
    if outcome.refused:
        yield _plain("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield _plain(
            "help: tritonwin undo --list shows the change; tritonwin undo ID --force undoes it "
            "and keeps what is there now beside it"
        )


def _state(hook: HookReport) -> str:
    if hook.damaged:
        return "is damaged and does nothing. Take it out: tritonwin patch revert"
    if not hook.starts:
        return "is not started: its .pth is gone. Take it out: tritonwin patch revert"
    return "applies what is needed."


def _plain(text: str, style: str = "") -> Text:
    return Text(printable(text), style)
