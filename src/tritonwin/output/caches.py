"""Cache entries for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tritonwin.facts.records import Cache, Facts
from tritonwin.output.blocks import Span, TextLine, Tone, line
from tritonwin.output.documents import TargetDocument, target_of
from tritonwin.output.text import few, size
from tritonwin.problems.cache_state import CacheState, JudgedEntry
from tritonwin.remedies.records import Clearing


@dataclass(frozen=True, kw_only=True)
class CacheReport(TargetDocument):
    """The document of `tritonwin cache list|clear`: every entry and how it stands."""

    schema: Literal["tritonwin.cache/1"] = "tritonwin.cache/1"
    caches: tuple[Cache, ...]
    entries: tuple[JudgedEntry, ...]
    cleared: tuple[str, ...] = ()  # entries that were taken away, or with --dry-run would be
    left: tuple[str, ...] = ()  # what is there and has not the form of an entry
    journal: str | None = None  # what `tritonwin undo` restores them by


_SHOWN = 20
_TONES: dict[CacheState, Tone] = {"usable": "good", "foreign": "faint", "stale": "warning"}


def report(
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
        yield from (_line(each) for each in report.entries if each.entry.cache == cache.kind)
    stale = sum(judged.state == "stale" for judged in report.entries)
    text = f"{len(report.entries)} entries, {stale} stale."
    yield line(text + (" Clear them: tritonwin cache clear" if stale else ""))


def _line(judged: JudgedEntry) -> TextLine:
    entry = judged.entry
    reason = f": {judged.reason}" if judged.reason else ""
    name = f"{entry.kind} {entry.name}".strip()
    text = f"{name}, for {judged.built_for}, {size(entry.size_bytes)}{reason}"
    path = Span(f"  {entry.path}", "faint")
    return line(f"  {judged.state:<8}", _TONES[judged.state], Span(text), path)


def of_clearing(clearing: Clearing) -> Iterator[TextLine]:
    """Entries that would go, and files that stay because they are no entries."""
    going = [f"clear {path}" for path in clearing.removes] or ["Nothing to clear."]
    left = [f"left: {path} has not the form of a cache entry" for path in clearing.left]
    return map(line, (*few(going, _SHOWN, "more entries"), *few(left, _SHOWN, "more are left")))


def of_cleared(journal: str) -> Iterator[TextLine]:
    yield line(f"Cleared. To restore it: tritonwin undo {journal}")
    yield line(f"To free the disk: tritonwin undo --forget {journal}")
