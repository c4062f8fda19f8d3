"""What a scan leaves: first sightings of signatures and marks, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tritonwin.problems.explain.log_facts import PATIENCE, LogFacts, knowledge
from tritonwin.problems.model import Entry, LinePattern, Signature

MAX_HITS = 3  # lines of one signature that are kept


@dataclass(frozen=True)
class Hit:
    line: int
    text: str
    groups: Mapping[str, str]


@dataclass
class Sighting:
    """Where a pattern was seen: its first and its last line."""

    first: Hit
    last: Hit


@dataclass
class _Watch:
    """A signature in waiting: its hits count from the line on which all of `before` were seen."""

    entry: Entry
    signature: Signature
    hits: list[Hit] = field(default_factory=list)


class Collector:
    """Receives the lines that match and keeps what the verdict needs."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.facts = LogFacts()
        self.sightings: dict[LinePattern, Sighting] = {}
        self._watches: dict[LinePattern, list[_Watch]] = {}
        self._marks: set[LinePattern] = set()
        self._last_matters: set[LinePattern] = set()
        for entry in entries:
            for signature in entry.signatures:
                watch = _Watch(entry, signature)
                self._watches.setdefault(signature.pattern, []).append(watch)
                self._marks |= {*signature.before, *signature.after, *signature.without}
                self._last_matters |= {*signature.after}
        self._facts = frozenset(knowledge().patterns)
        self.patterns = tuple(
            dict.fromkeys((*self._watches, *sorted(self._marks, key=repr), *knowledge().patterns))
        )

    def patience(self) -> dict[int, int]:
        """Facts are given up after a while; signatures and marks never."""
        facts_only = self._facts - self._watches.keys() - self._marks
        return {i: PATIENCE for i, p in enumerate(self.patterns) if p in facts_only}

    def take(self, index: int, line: int, text: str, groups: dict[str, str]) -> bool:
        """Take a match; the answer says whether more of this pattern is of use."""
        pattern = self.patterns[index]
        hit = Hit(line, text, groups)
        if pattern in self._facts:
            for name, value in groups.items():
                self.facts.add(name, value, line, text)
        wanted = pattern in self._facts
        for watch in self._watches.get(pattern, ()):
            known = len(watch.hits) >= MAX_HITS or any(h.line == line for h in watch.hits)
            if not known and self._seen_before(watch.signature, line):
                watch.hits.append(hit)
            wanted = wanted or len(watch.hits) < MAX_HITS
        if pattern in self._marks:
            sighting = self.sightings.setdefault(pattern, Sighting(hit, hit))
            sighting.last = hit
            wanted = wanted or pattern in self._last_matters
        return wanted

    def _seen_before(self, signature: Signature, line: int) -> bool:
        return all(
            (seen := self.sightings.get(pattern)) is not None and seen.first.line < line
            for pattern in signature.before
        )

    def found(self) -> Iterable[tuple[Entry, Signature, list[Hit]]]:
        """Signatures whose lines stand in the log, in the right order; `when` is not looked at."""
        for watches in self._watches.values():
            for watch in watches:
                if watch.hits and self._complete(watch.signature, watch.hits[0].line):
                    yield watch.entry, watch.signature, watch.hits

    def _complete(self, signature: Signature, line: int) -> bool:
        after = (self.sightings.get(pattern) for pattern in signature.after)
        if not all(seen is not None and seen.last.line > line for seen in after):
            return False
        return not any(pattern in self.sightings for pattern in signature.without)
