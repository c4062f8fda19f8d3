"""The outcomes of small changes and of their undo, for people and for programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.driver.records import DriverOutcome, DriverStatus
from tritonwin.facts.records import Cache
from tritonwin.journal import Conflict
from tritonwin.journal.records import Header, State, Unreadable
from tritonwin.journal.undo import UndoReport, UndoResult
from tritonwin.output.blocks import Block, Span, TextLine, Tone, line
from tritonwin.output.changes import of_plan
from tritonwin.output.documents import Document, TargetDocument
from tritonwin.output.text import few, size
from tritonwin.patch.engine import RuleState
from tritonwin.patch.records import Hook, PatchOutcome, PatchStatus
from tritonwin.problems.cache_state import CacheState, JudgedEntry
from tritonwin.remedies.records import Clearing, GuardOutcome, GuardState
from tritonwin.system.shells import word

_SHOWN = 20  # of files, entries, actions and places; the rest is counted
_VERDICTS: Mapping[PatchStatus | DriverStatus | GuardState, str] = {
    "examined": "Nothing is needed.",
    "planned": "Nothing was changed yet. Do it: tritonwin patch apply{at}",
    "applied": "Patched. To undo it: tritonwin patch revert{at}",
    "reverted": "Everything is as it was before.",
    "nothing": "There is nothing to do.",
    "refused": "Nothing was changed: this Triton is of no version that is known.",
    "on": "{what} is on.",
    "off": "{what} is off.",
    "switched-on": "{what} is on now. To undo it: tritonwin {name} off{at}",
    "switched-off": "{what} is off now.",
    "unchanged": "It was so before; nothing was changed.",
}


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


def _listed(texts: Iterable[str], tone: Tone = "plain", indent: int = 0) -> Iterator[TextLine]:
    """A line each; after the first twenty the others are counted."""
    return (line(text, tone, indent=indent) for text in few(tuple(texts), _SHOWN))


def _changed(files: Iterable[str]) -> Iterator[TextLine]:
    return _listed((f"changed {file}" for file in files), indent=2)


def _broken(hook: Hook | None, remove: str) -> Iterator[TextLine]:
    """An import hook that does nothing."""
    if hook and (hook.damaged or not hook.starts):
        why = "it is damaged" if hook.damaged else "its .pth is gone"
        yield line(f"The import hook in {hook.folder} does nothing: {why}.")
        yield line(f"Take it out: tritonwin {remove}")


def _conflicts(conflicts: Iterable[Conflict]) -> Iterator[TextLine]:
    """Places that were changed since, and how they are."""
    return _listed((f"changed since: {c.place} (now: {c.found})" for c in conflicts), "warning")


# -- patch, the driver in Python, guard


@dataclass(frozen=True, kw_only=True)
class PatchReport(PatchOutcome, TargetDocument):
    """The document of `tritonwin patch status|diff|apply|revert`."""

    schema: Literal["tritonwin.patch/1"] = "tritonwin.patch/1"


@dataclass(frozen=True, kw_only=True)
class DriverReport(DriverOutcome, TargetDocument):
    """The document of `tritonwin driver on|off|status`."""

    schema: Literal["tritonwin.driver/1"] = "tritonwin.driver/1"


@dataclass(frozen=True, kw_only=True)
class GuardReport(GuardOutcome, TargetDocument):
    """The document of `tritonwin guard on|off|status`."""

    schema: Literal["tritonwin.guard/1"] = "tritonwin.guard/1"


_RULE_TONES: dict[RuleState, Tone] = {"needed": "warning", "unknown": "bad"}


def of_patch(outcome: PatchReport) -> Iterator[TextLine]:
    """A line per rule, or what was changed, refused or left; then what to do."""
    whose = "triton-windows" if outcome.flavour == "fork" else "upstream's Triton"
    yield line(f"{whose} {outcome.version or ''} in {outcome.package}", "strong")
    at, status = _at(outcome), outcome.status
    for rule in outcome.rules if status == "examined" else ():
        place = Span(f"  {rule.id:<24}  {rule.file}")
        yield line(f"{rule.state:<14}", _RULE_TONES.get(rule.state, "plain"), place, indent=2)
        if rule.state in _RULE_TONES:
            yield line(rule.reason, "faint", indent=20)
    if outcome.diff is None:
        yield from _changed(outcome.changed)
    else:
        yield from map(line, outcome.diff.splitlines())
    for refusal in outcome.refused:
        yield line(f"refused: {refusal.file}: {refusal.reason}", "warning")
    misfits = (each for refusal in outcome.refused for each in refusal.misfits.items())
    for name, reason in (*misfits, *outcome.skipped.items()):
        yield line(f"left out: {name}: {reason}", "warning")
    yield from _conflicts(outcome.conflicts)
    if outcome.unverified and not outcome.refused:
        yield line(f"unverified, of no known release: {', '.join(outcome.unverified)}", "warning")
    yield from _broken(outcome.hook, f"patch revert{at}")
    yield from map(line, outcome.notes)
    needed, unknown = len(outcome.of("needed")), len(outcome.of("unknown"))
    if status == "examined" and needed + unknown and not outcome.hooked:
        yield line(f"{needed} needed, {unknown} unknown. See them: tritonwin patch diff{at}")
    else:
        nothing = status == "planned" and not outcome.changed
        yield line(_VERDICTS["nothing" if nothing else status].format(at=at))
    if outcome.refused:
        yield line("help: apply what fits with --allow-unknown, or install a released Triton")
    if outcome.conflicts:
        yield line("help: tritonwin undo --list names the change; with ID --force it is undone,")
        yield line("and what is there now is kept beside it", indent=6)


def of_driver(outcome: DriverReport) -> Iterator[TextLine]:
    """A line per backend that cannot be replaced, the files, and what to do."""
    at, hook = _at(outcome), outcome.hook
    yield line(f"Triton {outcome.version or ''} in {outcome.package}", "strong")
    for backend in outcome.backends:
        if not backend.known:
            yield line(f"{backend.name}: left alone: {backend.reason}", indent=2)
    yield from _changed(outcome.changed)
    yield from _broken(hook, f"driver off{at}")
    if hook and hook.starts and not (hook.damaged or hook.current):
        yield line(f"Another version of tritonwin wrote it. To renew it: tritonwin driver on{at}")
    yield from map(line, outcome.notes)
    yield line(_VERDICTS[outcome.status].format(what="The driver in Python", name="driver", at=at))


def of_guard(outcome: GuardReport) -> Iterator[TextLine]:
    """A line per version that is kept, the files, and what to do."""
    at = _at(outcome)
    for name, version in outcome.kept.items():
        now = f"  now {outcome.drifted[name] or 'not there'}" if name in outcome.drifted else ""
        yield line(f"{name:<16} {version}{now}", indent=2)
    yield from _changed(outcome.changed)
    if not outcome.changed:
        yield from _listed((f"in {file}" for file in outcome.files), indent=2)
    for file in outcome.missing:
        yield line(f"Missing or changed in {file}. To write it again: tritonwin guard on{at}")
    for file in outcome.left:
        yield line(f"{file} has constraints of its own, or a byte order mark, and stays as it is.")
        yield line(f"Add there by hand: {outcome.uv}", indent=2)
    if outcome.drifted:
        yield line("Replaced all the same. See what that means: tritonwin doctor")
    for name in outcome.overruled if outcome.kept else ():
        yield line(f"pip follows the variable {name} instead of this: remove it.")
    if outcome.uv:
        yield line(f"uv keeps to it where UV_CONSTRAINT names {outcome.uv}")
    yield line(_VERDICTS[outcome.status].format(what="The guard", name="guard", at=at), "strong")


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


def of_caches(report: CacheReport) -> Iterator[Block]:
    """Each cache with its entries, and how many of them are stale."""
    for cache in report.caches:
        what = f"{cache.entries} files, {size(cache.size_bytes)}" if cache.exists else "not there"
        yield line(f"{cache.kind}: {cache.path} ({cache.source}), {what}", "strong")
        for judged in report.entries:
            entry, reason = judged.entry, f": {judged.reason}" if judged.reason else ""
            text = f"{entry.kind} {entry.name} for {judged.built_for}, {size(entry.size_bytes)}"
            if entry.cache == cache.kind:
                state = f"{judged.state:<8}"
                path = Span(f"  {entry.path}", "faint")
                tone = _CACHE_TONES[judged.state]
                yield line(state, tone, Span(text + reason), path, indent=2)
    stale = sum(judged.state == "stale" for judged in report.entries)
    text = f"{len(report.entries)} entries, {stale} stale."
    yield line(text + (f" Clear them: tritonwin cache clear{_at(report)}" if stale else ""))


def of_clearing(clearing: Clearing) -> Iterator[Block]:
    """The plan, and the files that stay because they are no entries."""
    yield from of_plan(clearing.plan) if clearing.removes else (line("Nothing to clear."),)
    yield from _listed(f"left: {path} has not the form of a cache entry" for path in clearing.left)


def of_cleared(journal: str) -> Iterator[TextLine]:
    yield line(f"Cleared. To restore it: tritonwin undo {journal}")
    yield line(f"To free the disk, give that up: tritonwin undo --forget {journal}")


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
    "open": "cut off", "applied": "applied", "half": "half undone", "undone": "undone",
}  # fmt: skip


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
        yield line(f"{report.id}  {report.title}", "strong")
        if not report.conflicts or report.state == "undone":
            yield from _listed(report.actions, indent=2)
        yield from _conflicts(report.conflicts)
        yield from _listed(f"note: {note}" for note in report.notes)
        yield from _listed(
            f"{folder} goes with the next change: a program still uses something in it"
            for folder in report.left
        )
        yield from (line(f"then {header.id}  {header.title}") for header in result.then)
        yield from _listed(f"not as it was before: {place}" for place in report.differs)
        yield line(_verdict(report))
    yield from of_damaged(result.damaged)


def of_forgotten(folders: Iterable[Path]) -> Iterator[TextLine]:
    """The folders that `undo --forget` leaves to be deleted."""
    where = "What was kept for the undo, and can be files of yours, is yours to delete:"
    return _listed(f"{where} {folder}" for folder in folders)


def _verdict(report: UndoReport) -> str:
    if report.state == "undone":
        if report.restored:
            return "Everything is as it was before."
        if not (report.actions or report.conflicts or report.notes or report.differs):
            return "It is undone already."
        return "Everything else is as it was before."
    if not report.conflicts:
        return "Nothing was changed yet."
    how = "--force keeps what is in the way beside its place, and restores the rest."
    if not os.path.lexists(report.target):
        how = f"{report.target} is not there any more. Move it back first if it was moved. {how}"
    elif report.lost and report.state == "applied":
        how = "What was kept for the undo is gone: neither the old nor the new would be left."
    leave = f"tritonwin undo {report.id} --forget"
    return f"Nothing was changed. {how} To leave all as it is now, for good: {leave}"
