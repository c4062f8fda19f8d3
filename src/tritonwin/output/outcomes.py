"""The outcomes of small changes and of their undo, for people and for programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.driver.records import DriverOutcome, DriverStatus
from tritonwin.facts.records import Cache, Facts
from tritonwin.journal import Conflict
from tritonwin.journal.records import Header, State, Unreadable
from tritonwin.journal.undo import UndoReport, UndoResult
from tritonwin.output.blocks import Span, TextLine, Tone, line
from tritonwin.output.documents import Document, TargetDocument, target_of
from tritonwin.output.text import few, size
from tritonwin.patch.engine import RuleState
from tritonwin.patch.records import FileRefusal, Hook, PatchOutcome
from tritonwin.problems.cache_state import CacheState, JudgedEntry
from tritonwin.remedies.records import Clearing, GuardOutcome, GuardState
from tritonwin.system.shells import word

_SHOWN = 20  # of files, entries, actions and places; the rest is counted


def _at(report: TargetDocument) -> str:
    """The option that names the same Python, or the same folder of Triton, again."""
    if report.target:
        option, place = "--python", report.target.executable
    elif isinstance(report, PatchReport):
        option, place = "--triton", report.package
    else:
        return ""
    named = word(place)
    return f" {option} {named}" if named else ""


# -- patch


@dataclass(frozen=True, kw_only=True)
class PatchReport(PatchOutcome, TargetDocument):
    """The document of `tritonwin patch status|diff|apply|revert`."""

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"


_RULE_TONES: dict[RuleState, Tone] = {
    "needed": "warning",
    "applied": "good",
    "fixed-upstream": "good",
    "fixed-by-fork": "good",
    "not-applicable": "absent",
    "unknown": "bad",
}
_RULE_WIDTH = max(map(len, _RULE_TONES))
_DIFF: dict[str, Tone] = {"+": "good", "-": "bad", "@": "notice"}
_PATCH_VERDICTS = {
    "examined": "",
    "planned": "Nothing was changed yet. Do it: tritonwin patch apply{at}",
    "applied": "Patched. To undo it: tritonwin patch revert{at}",
    "reverted": "Everything is as it was before.",
    "nothing": "There is nothing to do.",
    "refused": "Nothing was changed.",
}


def of_patch(outcome: PatchReport) -> Iterator[TextLine]:
    """A line per rule, or what was changed, refused or left; then what to do."""
    whose = "triton-windows" if outcome.flavour == "fork" else "upstream's Triton"
    yield line(f"{whose} {outcome.version or ''} in {outcome.package}", "strong")
    if outcome.status == "examined":
        for rule in outcome.rules:
            place = Span(f"  {rule.id:<24}  {rule.file}")
            yield line(f"  {rule.state:<{_RULE_WIDTH}}", _RULE_TONES[rule.state], place)
            if rule.state in {"needed", "unknown"}:
                yield line(rule.reason, "faint", indent=_RULE_WIDTH + 6)
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


def _closing(outcome: PatchReport) -> Iterator[TextLine]:
    for misfit in outcome.skipped:
        yield line(f"left out: {misfit.rule}: {misfit.reason}", "warning")
    if outcome.unverified and not outcome.refused:
        yield line(f"unverified, of no known release: {', '.join(outcome.unverified)}", "warning")
    if hook := outcome.hook:
        yield line(
            f"The import hook in {hook.folder} {_state(hook, f'patch revert{_at(outcome)}')}"
        )
    yield from map(line, outcome.notes)
    if outcome.status == "examined":
        needed, unknown = len(outcome.of("needed")), len(outcome.of("unknown"))
        yield line(
            f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff{_at(outcome)}"
            if needed + unknown and not outcome.hooked
            else "Nothing is needed."
        )
    else:
        planned_nothing = outcome.status == "planned" and not outcome.changed
        verdict = _PATCH_VERDICTS["nothing" if planned_nothing else outcome.status]
        yield line(verdict.format(at=_at(outcome)))
    if outcome.refused:
        yield line("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield line(
            "help: tritonwin undo --list shows the change; tritonwin undo ID --force undoes it "
            "and keeps what is there now beside it"
        )


def _state(hook: Hook, undo: str) -> str:
    if hook.damaged or not hook.starts:
        why = "damaged and does nothing" if hook.damaged else "not started: its .pth is gone"
        return f"is {why}. Take it out: tritonwin {undo}"
    return "applies what is needed."


# -- the driver in Python


@dataclass(frozen=True, kw_only=True)
class DriverReport(DriverOutcome, TargetDocument):
    """The document of `tritonwin driver on|off|status`."""

    schema: Literal["tritonwin.driver/1"] = "tritonwin.driver/1"


_DRIVER_VERDICTS: dict[DriverStatus, str] = {
    "on": "The driver in Python is on: no C compiler is needed to run kernels.",
    "off": "The driver in Python is off: Triton compiles its driver module at the first kernel.",
    "switched-on": "Switched on: no C compiler is needed now. To undo it: tritonwin driver off{at}",
    "switched-off": "Switched off: Triton compiles its driver module again.",
    "unchanged": "It was so before; nothing was changed.",
    "refused": "Nothing was changed: this Triton's driver is not known.",
}


def of_driver(outcome: DriverReport) -> Iterator[TextLine]:
    """A line per backend, the files, and what to do."""
    yield line(f"Triton {outcome.version or ''} in {outcome.package}", "strong")
    for backend in outcome.backends:
        known = "its driver is known" if backend.known else f"left alone: {backend.reason}"
        yield line(f"  {backend.name:<7} {known}")
    for file in outcome.changed:
        yield line(f"  changed {file}")
    hook = outcome.hook
    if hook and (hook.damaged or not hook.starts):
        yield line(f"The import hook in {hook.folder} {_state(hook, f'driver off{_at(outcome)}')}")
    elif hook and not hook.current:
        renew = f"tritonwin driver on{_at(outcome)}"
        yield line(f"Another version of tritonwin wrote it. To renew it: {renew}")
    for note in outcome.notes:
        yield line(note)
    yield line(_DRIVER_VERDICTS[outcome.status].format(at=_at(outcome)))


# -- guard


@dataclass(frozen=True, kw_only=True)
class GuardReport(GuardOutcome, TargetDocument):
    """The document of `tritonwin guard on|off|status`."""

    schema: Literal["tritonwin.guard/1"] = "tritonwin.guard/1"


_GUARD_VERDICTS: dict[GuardState, str] = {
    "on": "The guard is on.",
    "off": "The guard is off: any program may replace torch and Triton.",
    "switched-on": "Switched on. To allow other versions: tritonwin guard off{at}",
    "switched-off": "Switched off: any program may replace torch and Triton.",
    "unchanged": "It was so before; nothing was changed.",
}


def of_guard(outcome: GuardReport) -> Iterator[TextLine]:
    """A line per version that is kept, the files, and what to do."""
    drifted = {each.name: each.now or "not there" for each in outcome.drifted}
    for name, version in outcome.kept.items():
        now = drifted.get(name)
        yield line(f"  {name:<16} {version}" + (f"  now {now}" if now else ""))
    for file in outcome.changed or outcome.files:
        yield line(f"  {'changed' if outcome.changed else 'in'} {file}")
    for file in outcome.missing:
        again = f"tritonwin guard on{_at(outcome)}"
        yield line(f"Missing or changed in {file}. To write it again: {again}")
    for file in outcome.left:
        yield line(f"{file} stays as it is, and counts: it has constraints of its own, or begins")
        yield line(f"  with a byte order mark. Add there by hand {outcome.uv}")
    if drifted:
        yield line("Replaced all the same. See what that means: tritonwin doctor")
    for name in outcome.overruled if outcome.kept else ():
        yield line(f"pip follows the variable {name} instead of this: remove it.")
    if outcome.uv:
        yield line(f"uv keeps to it where UV_CONSTRAINT names {outcome.uv}")
    yield line(_GUARD_VERDICTS[outcome.status].format(at=_at(outcome)), "strong")


# -- caches


@dataclass(frozen=True, kw_only=True)
class CacheReport(TargetDocument):
    """The document of `tritonwin cache list|clear`: every entry and how it stands."""

    schema: Literal["tritonwin.cache/1"] = "tritonwin.cache/1"
    caches: tuple[Cache, ...]
    entries: tuple[JudgedEntry, ...]
    cleared: tuple[str, ...] = ()  # entries that were taken away, or with --dry-run would be
    left: tuple[str, ...] = ()  # what is there and has not the form of an entry
    journal: str | None = None  # what `tritonwin undo` restores them by


_CACHE_TONES: dict[CacheState, Tone] = {"usable": "good", "foreign": "faint", "stale": "warning"}


def cache_report(
    facts: Facts,
    entries: Sequence[JudgedEntry],
    clearing: Clearing | None = None,
) -> CacheReport:
    return CacheReport(
        target=target_of(facts.target),
        caches=facts.caches,
        entries=tuple(entries),
        cleared=clearing.removes if clearing else (),
        left=clearing.left if clearing else (),
        journal=clearing.journal if clearing else None,
    )


def of_caches(report: CacheReport) -> Iterator[TextLine]:
    """Each cache with its entries, and how many of them are stale."""
    for cache in report.caches:
        what = f"{cache.entries} files, {size(cache.size_bytes)}" if cache.exists else "not there"
        yield line(f"{cache.kind}: {cache.path} ({cache.source}), {what}", "strong")
        yield from (_entry(each) for each in report.entries if each.entry.cache == cache.kind)
    stale = sum(judged.state == "stale" for judged in report.entries)
    text = f"{len(report.entries)} entries, {stale} stale."
    yield line(text + (f" Clear them: tritonwin cache clear{_at(report)}" if stale else ""))


def _entry(judged: JudgedEntry) -> TextLine:
    entry = judged.entry
    reason = f": {judged.reason}" if judged.reason else ""
    name = f"{entry.kind} {entry.name}".strip()
    text = f"{name}, for {judged.built_for}, {size(entry.size_bytes)}{reason}"
    path = Span(f"  {entry.path}", "faint")
    return line(f"  {judged.state:<8}", _CACHE_TONES[judged.state], Span(text), path)


def of_clearing(clearing: Clearing) -> Iterator[TextLine]:
    """Entries that would go, and files that stay because they are no entries."""
    going = [f"clear {path}" for path in clearing.removes] or ["Nothing to clear."]
    left = [f"left: {path} has not the form of a cache entry" for path in clearing.left]
    return map(line, (*few(going, _SHOWN, "more entries"), *few(left, _SHOWN, "more are left")))


def of_cleared(journal: str) -> Iterator[TextLine]:
    yield line(f"Cleared. To restore it: tritonwin undo {journal}")
    yield line(f"To free the disk: tritonwin undo --forget {journal}, which names the folder")


# -- journals and undo


@dataclass(frozen=True, kw_only=True)
class UndoDocument(Document):
    """The document of `tritonwin undo`: what was undone, or what is in the way."""

    schema: Literal["tritonwin.undo/1"] = "tritonwin.undo/1"
    undo: UndoReport
    also: tuple[UndoReport, ...] = ()  # the earlier rounds of the same fix, the newest first
    damaged: tuple[Unreadable, ...] = ()  # journals that cannot be read, so are not undone


@dataclass(frozen=True, kw_only=True)
class JournalList(Document):
    """The document of `tritonwin undo --list`, the newest first."""

    schema: Literal["tritonwin.journals/1"] = "tritonwin.journals/1"
    journals: tuple[Header, ...]
    damaged: tuple[Unreadable, ...] = ()


STATES: dict[State, str] = {
    "open": "cut off",
    "applied": "applied",
    "half": "half undone",
    "undone": "undone",
}


def of_journals(headers: Sequence[Header], unreadable: Sequence[Unreadable]) -> Iterator[TextLine]:
    """One line each, the newest first, and what to do about those that cannot be read."""
    if not headers and not unreadable:
        yield line("tritonwin changed nothing here that could be undone")
    for header in headers:
        yield line(f"{header.id}  {STATES[header.state]:<11}  {header.title}  ({header.target})")
    yield from of_damaged(unreadable)


def of_damaged(unreadable: Sequence[Unreadable]) -> Iterator[TextLine]:
    for each in unreadable:
        yield line(f"{each.id}  damaged      {each.reason}", "warning")
        yield line(f"give it up: tritonwin undo --forget {each.id}", indent=6)


def of_undo(result: UndoResult) -> Iterator[TextLine]:
    """The reports of an undo or of its preview; the other rounds of the same fix follow."""
    for report in result.reports:
        yield from _report(report, result.then)
    yield from of_damaged(result.damaged)


def _report(report: UndoReport, then: Sequence[Header]) -> Iterator[TextLine]:
    yield line(f"{report.id}  {report.title}", "strong")
    undone = report.state == "undone"
    if not report.conflicts or undone:
        yield from (line(action, indent=2) for action in few(report.actions, _SHOWN))
    for conflict in report.conflicts[:_SHOWN]:
        yield from conflict_lines(conflict)
    if len(report.conflicts) > _SHOWN:
        yield line(f"and {len(report.conflicts) - _SHOWN} more places")
    for note in report.notes:
        yield line(f"note: {note}")
    for folder in report.left:
        yield line(
            f"note: {folder} goes with the next change: a program still uses something in it"
        )
    for header in then:
        yield line(f"then {header.id}  {header.title}")
    for place in few(report.differs, _SHOWN):
        yield line(f"not as it was before: {place}")
    yield line(_verdict(report))


def of_forgotten(folders: Iterable[Path]) -> Iterator[TextLine]:
    """Where what was kept for the undo lies."""
    for folder in folders:
        yield line(f"To free the disk, delete what was kept for the undo: {folder}")


def conflict_lines(conflict: Conflict) -> Iterator[TextLine]:
    """A place that was changed since, and how it is."""
    yield line(f"changed since: {conflict.place}", "warning")
    yield line(f"now: {conflict.found}", indent=6)


def _verdict(report: UndoReport) -> str:
    if report.state == "undone":
        if report.restored:
            return "Everything is as it was before."
        if not (report.actions or report.conflicts or report.notes or report.differs):
            return "It is undone already."
        return "Everything else is as it was before."
    if report.conflicts and not os.path.lexists(report.target):
        return (
            f"Nothing was changed: {report.target} is not there any more. If it was moved, move it "
            "back, and undo then. If it was deleted, --force restores what lies elsewhere. "
            f"To leave all as it is: tritonwin undo {report.id} --forget"
        )
    if report.lost and report.state == "applied":
        return (
            "Nothing was changed: what was kept for the undo is gone, so that neither the old nor "
            f"the new would be left. To leave all as it is: tritonwin undo {report.id} --forget"
        )
    if report.conflicts:
        return (
            "Nothing was changed. With --force what is in the way is kept beside its place under "
            "another name, and the rest is restored. "
            f"To leave all as it is now, for good: tritonwin undo {report.id} --forget"
        )
    return "Nothing was changed yet."
