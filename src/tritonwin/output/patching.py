"""The outcomes of `tritonwin patch` and `tritonwin driver`, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tritonwin.driver.records import DriverOutcome, DriverStatus
from tritonwin.output.blocks import Span, TextLine, Tone, line
from tritonwin.output.documents import TargetDocument
from tritonwin.output.journals import conflict_lines
from tritonwin.patch.engine import RuleState
from tritonwin.patch.records import FileRefusal, Hook, PatchOutcome


@dataclass(frozen=True, kw_only=True)
class PatchReport(PatchOutcome, TargetDocument):
    """The document of `tritonwin patch status|diff|apply|revert`."""

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"


_TONES: dict[RuleState, Tone] = {
    "needed": "warning",
    "applied": "good",
    "fixed-upstream": "good",
    "fixed-by-fork": "good",
    "not-applicable": "absent",
    "unknown": "bad",
}
_WIDTH = max(map(len, _TONES))
_DIFF: dict[str, Tone] = {"+": "good", "-": "bad", "@": "notice"}
_VERDICTS = {
    "examined": "",
    "planned": "Nothing was changed yet. Do it: tritonwin patch apply",
    "applied": "Patched. To undo it: tritonwin patch revert",
    "reverted": "Everything is as it was before.",
    "nothing": "There is nothing to do.",
    "refused": "Nothing was changed.",
}


def of_patch(outcome: PatchOutcome) -> Iterator[TextLine]:
    """A line per rule, or what was changed, refused or left; then what to do."""
    whose = "triton-windows" if outcome.flavour == "fork" else "upstream's Triton"
    yield line(f"{whose} {outcome.version or ''} in {outcome.package}", "strong")
    if outcome.status == "examined":
        for rule in outcome.rules:
            place = Span(f"  {rule.id:<24}  {rule.file}")
            yield line(f"  {rule.state:<{_WIDTH}}", _TONES[rule.state], place)
            if rule.state in {"needed", "unknown"}:
                yield line(rule.reason, "faint", indent=_WIDTH + 6)
    if outcome.diff is not None:
        for each in outcome.diff.splitlines():
            yield line(each, _DIFF.get(each[:1], "plain"))
    else:
        done = "restored" if outcome.status == "reverted" else "changed"
        yield from (line(f"  {done} {file}") for file in outcome.changed)
    for refusal in outcome.refused:
        yield from _refusal(refusal)
    for conflict in outcome.conflicts:
        yield from conflict_lines(conflict)
    yield from _closing(outcome)


def _refusal(refusal: FileRefusal) -> Iterator[TextLine]:
    yield line(f"refused: {refusal.file}: {refusal.reason}", "warning")
    yield line(f"      as released: {refusal.released}")
    if refusal.left:
        yield line(f"      as tritonwin left it: SHA-256 {refusal.left}")
    if refusal.found:
        yield line(f"      as it is: SHA-256 {refusal.found}")
    if refusal.fits:
        yield line(f"      rules that fit it all the same: {', '.join(refusal.fits)}")
    for misfit in refusal.misfits:
        yield line(f"      {misfit.rule} does not fit: {misfit.reason}")


def _closing(outcome: PatchOutcome) -> Iterator[TextLine]:
    for misfit in outcome.skipped:
        yield line(f"left out: {misfit.rule}: {misfit.reason}", "warning")
    if outcome.unverified and not outcome.refused:
        yield line(f"unverified, of no known release: {', '.join(outcome.unverified)}", "warning")
    if hook := outcome.hook:
        yield line(f"The import hook in {hook.folder} {_state(hook)}")
    yield from map(line, outcome.notes)
    if outcome.status == "examined":
        needed, unknown = len(outcome.of("needed")), len(outcome.of("unknown"))
        yield line(
            f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff"
            if needed + unknown and not outcome.hooked
            else "Nothing is needed."
        )
    else:
        planned_nothing = outcome.status == "planned" and not outcome.changed
        yield line(_VERDICTS["nothing" if planned_nothing else outcome.status])
    if outcome.refused:
        yield line("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield line(
            "help: tritonwin undo --list shows the change; tritonwin undo ID --force undoes it "
            "and keeps what is there now beside it"
        )


def _state(hook: Hook) -> str:
    if hook.damaged:
        return "is damaged and does nothing. Take it out: tritonwin patch revert"
    if not hook.starts:
        return "is not started: its .pth is gone. Take it out: tritonwin patch revert"
    return "applies what is needed."


# -- the driver in Python


@dataclass(frozen=True, kw_only=True)
class DriverReport(DriverOutcome, TargetDocument):
    """The document of `tritonwin driver on|off|status`."""

    schema: Literal["tritonwin.driver/1"] = "tritonwin.driver/1"


_DRIVER_VERDICTS: dict[DriverStatus, str] = {
    "on": "The driver in Python is on: no C compiler is needed to run kernels.",
    "off": "The driver in Python is off: Triton compiles its driver module at the first kernel.",
    "switched-on": "Switched on: kernels need no C compiler any more. Undo: tritonwin driver off",
    "switched-off": "Switched off: Triton compiles its driver module again.",
    "unchanged": "It was so before; nothing was changed.",
    "refused": "Nothing was changed: this Triton's driver is not known.",
}


def of_driver(outcome: DriverOutcome) -> Iterator[TextLine]:
    """A line per backend, the files, and what to do."""
    yield line(f"Triton {outcome.version or ''} in {outcome.package}", "strong")
    for backend in outcome.backends:
        known = "its driver is known" if backend.known else f"left alone: {backend.reason}"
        yield line(f"  {backend.name:<7} {known}")
    for file in outcome.changed:
        yield line(f"  changed {file}")
    hook = outcome.hook
    if hook and hook.damaged:
        text = f"The import hook in {hook.folder} is damaged and does nothing."
        yield line(f"{text} Take it out: tritonwin driver off")
    elif hook and not hook.starts:
        yield line(f"The hook in {hook.folder} is not started: its .pth is gone.")
    elif hook and not hook.current:
        yield line("Another version of tritonwin wrote it. To renew it: tritonwin driver on")
    for note in outcome.notes:
        yield line(note)
    yield line(_DRIVER_VERDICTS[outcome.status])
