"""Journals and undo for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.journal import Conflict
from tritonwin.journal.records import Header, State, Unreadable
from tritonwin.journal.undo import Forgotten, UndoReport, UndoResult
from tritonwin.output.blocks import TextLine, line
from tritonwin.output.documents import Document
from tritonwin.output.text import few


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
_SHOWN = 20  # actions, and places that were changed since; the rest is counted


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
        yield line(f"give it up, with what it kept: tritonwin undo --forget {each.id}", indent=6)


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


def of_forgotten(done: Forgotten | None) -> Iterator[TextLine]:
    """The files that were not deleted, and why."""
    for folder in done.left if done else ():
        yield line(f"{folder} could not be deleted: a program still uses something in it")
    if done and done.aside:
        yield line(f"These files are of no package, so they were moved to {done.aside}:")
        yield from (line(place, indent=2) for place in few(done.places, _SHOWN))


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
