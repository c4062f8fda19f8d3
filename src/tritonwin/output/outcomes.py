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
from tritonwin.output.blocks import Block, Span, TextLine, Tone, line
from tritonwin.output.changes import of_plan
from tritonwin.output.documents import Document, TargetDocument, target_of
from tritonwin.output.text import few, size
from tritonwin.patch.engine import RuleState
from tritonwin.patch.records import Hook, PatchOutcome
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


_RULE_TONES: dict[RuleState, Tone] = {"needed": "warning", "unknown": "bad"}
_PATCH_VERDICTS = {
    "examined": "Nothing is needed.",
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
    examined = outcome.status == "examined"
    for rule in outcome.rules if examined else ():
        place = Span(f"  {rule.id:<24}  {rule.file}")
        yield line(f"{rule.state:<14}", _RULE_TONES.get(rule.state, "plain"), place, indent=2)
        if rule.state in _RULE_TONES:
            yield line(rule.reason, "faint", indent=20)
    if outcome.diff is not None:
        yield from map(line, outcome.diff.splitlines())
    else:
        yield from _changed(outcome.changed)
    for refusal in outcome.refused:
        yield line(f"refused: {refusal.file}: {refusal.reason}", "warning")
    misfits = (each for refusal in outcome.refused for each in refusal.misfits.items())
    for name, reason in (*misfits, *outcome.skipped.items()):
        yield line(f"left out: {name}: {reason}", "warning")
    yield from _conflicts(outcome.conflicts)
    if outcome.unverified and not outcome.refused:
        yield line(f"unverified, of no known release: {', '.join(outcome.unverified)}", "warning")
    at = _at(outcome)
    if outcome.hooked:
        yield line("The import hook applies what is needed.")
    yield from _broken(outcome.hook, f"patch revert{at}")
    yield from map(line, outcome.notes)
    needed, unknown = len(outcome.of("needed")), len(outcome.of("unknown"))
    if examined and needed + unknown and not outcome.hooked:
        yield line(f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff{at}")
    else:
        nothing = outcome.status == "planned" and not outcome.changed
        verdict = _PATCH_VERDICTS["nothing" if nothing else outcome.status]
        yield line(verdict.format(at=at))
    if outcome.refused:
        yield line("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield line(
            "help: tritonwin undo --list shows the change; tritonwin undo ID --force undoes it "
            "and keeps what is there now beside it"
        )


def _changed(files: Sequence[str]) -> Iterator[TextLine]:
    return (line(f"changed {file}", indent=2) for file in files)


def _broken(hook: Hook | None, remove: str) -> Iterator[TextLine]:
    """An import hook that does nothing."""
    if hook and (hook.damaged or not hook.starts):
        why = "it is damaged" if hook.damaged else "its .pth is gone"
        yield line(f"The import hook in {hook.folder} does nothing: {why}.")
        yield line(f"Take it out: tritonwin {remove}")


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
        yield line(f"{backend.name:<7} {known}", indent=2)
    yield from _changed(outcome.changed)
    yield from _broken(hook := outcome.hook, f"driver off{_at(outcome)}")
    if hook and hook.starts and not (hook.damaged or hook.current):
        renew = f"tritonwin driver on{_at(outcome)}"
        yield line(f"Another version of tritonwin wrote it. To renew it: {renew}")
    yield from map(line, outcome.notes)
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
    for name, version in outcome.kept.items():
        now = f"  now {outcome.drifted[name] or 'not there'}" if name in outcome.drifted else ""
        yield line(f"  {name:<16} {version}{now}")
    yield from _changed(outcome.changed)
    if not outcome.changed:
        yield from (line(f"in {file}", indent=2) for file in outcome.files)
    for file in outcome.missing:
        again = f"tritonwin guard on{_at(outcome)}"
        yield line(f"Missing or changed in {file}. To write it again: {again}")
    for file in outcome.left:
        yield line(f"{file} has constraints of its own, or a byte order mark, and stays as it is.")
        yield line(f"Add there by hand: {outcome.uv}", indent=2)
    if outcome.drifted:
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


def of_clearing(clearing: Clearing) -> Iterator[Block]:
    """The plan, and the files that stay because they are no entries."""
    yield from of_plan(clearing.plan) if clearing.removes else (line("Nothing to clear."),)
    left = [f"left: {path} has not the form of a cache entry" for path in clearing.left]
    yield from map(line, few(left, _SHOWN, "more are left"))


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
    if not report.conflicts or report.state == "undone":
        yield from (line(action, indent=2) for action in few(report.actions, _SHOWN))
    yield from _conflicts(report.conflicts)
    yield from (line(f"note: {note}") for note in report.notes)
    yield from map(_in_use, report.left)
    yield from (line(f"then {header.id}  {header.title}") for header in then)
    yield from (line(f"not as it was before: {place}") for place in few(report.differs, _SHOWN))
    yield line(_verdict(report))


def of_forgotten(folders: Iterable[Path]) -> Iterator[TextLine]:
    """Where what was kept for the undo lies."""
    for folder in folders:
        yield line(f"To free the disk, delete what was kept for the undo: {folder}")


def _in_use(folder: str) -> TextLine:
    return line(f"{folder} goes with the next change: a program still uses something in it")


def _conflicts(conflicts: Sequence[Conflict]) -> Iterator[TextLine]:
    """Places that were changed since, and how they are."""
    places = [f"changed since: {each.place} (now: {each.found})" for each in conflicts]
    return (line(place, "warning") for place in few(places, _SHOWN))


def _verdict(report: UndoReport) -> str:
    if report.state == "undone":
        if report.restored:
            return "Everything is as it was before."
        if not (report.actions or report.conflicts or report.notes or report.differs):
            return "It is undone already."
        return "Everything else is as it was before."
    if not report.conflicts:
        return "Nothing was changed yet."
    if not os.path.lexists(report.target):
        how = (
            f"{report.target} is not there any more. If it was moved, move it back first. If it "
            "was deleted, --force restores what lies elsewhere."
        )
    elif report.lost and report.state == "applied":
        how = "What was kept for the undo is gone: neither the old nor the new would be left."
    else:
        how = (
            "With --force what is in the way is kept beside its place under another name, and the "
            "rest is restored."
        )
    leave = f"tritonwin undo {report.id} --forget"
    return f"Nothing was changed. {how} To leave all as it is now, for good: {leave}"
