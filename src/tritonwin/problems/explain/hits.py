"""What a scan leaves: first sightings of signatures and marks, in memory that does not grow.

Only what can still change the verdict is looked for: a signature once all of its `before` have been
seen, a mark of `after` once its signature has been seen, everything else until it was seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tritonwin.problems.explain.log_facts import PATIENCE, LogFacts, knowledge
from tritonwin.problems.explain.scan import Recent
from tritonwin.problems.model import Entry, LinePattern, Signature

MAX_HITS = 3  # lines of one signature that are kept


@dataclass(frozen=True)
class Hit:
    line: int
    text: str
    groups: Mapping[str, str]


@dataclass
class Watch:
    """A signature, the lines that matched it, and what was seen of its marks."""

    entry: Entry
    signature: Signature
    hits: list[Hit] = field(default_factory=list)
    before: dict[LinePattern, Hit] = field(default_factory=dict)
    after: dict[LinePattern, Hit] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether a line that matches would count."""
        return len(self.hits) < MAX_HITS and len(self.before) == len({*self.signature.before})

    @property
    def complete(self) -> bool:
        return bool(self.hits) and len(self.after) == len({*self.signature.after})

    def take(self, hit: Hit, recent: Recent) -> None:
        earlier = all(seen.line < hit.line for seen in self.before.values())
        fresh = all(known.line != hit.line for known in self.hits)
        if self.open and earlier and fresh and self._belongs(recent):
            self.hits.append(hit)

    def _belongs(self, recent: Recent) -> bool:
        if not self.signature.near:
            return True
        text = recent()
        return all(any(a in text for a in mark.anchors) for mark in self.signature.before)

    def mark(self, pattern: LinePattern, hit: Hit) -> None:
        if pattern in self.signature.before:
            self.before.setdefault(pattern, hit)
        if pattern in self.signature.after and self.hits and hit.line > self.hits[0].line:
            self.after.setdefault(pattern, hit)

    def awaits(self, pattern: LinePattern) -> bool:
        """Whether a sighting of this mark would change anything."""
        return (pattern in self.signature.before and pattern not in self.before) or (
            bool(self.hits) and pattern in self.signature.after and pattern not in self.after
        )


class Collector:
    """Receives the lines that match and keeps what the verdict needs.

    Attributes:
        patterns: everything to be looked for, at one time or another.
        wanted: indexes of those that are of use now; the scan reads it as it changes.
        patience: how many lines a pattern may see before it is given up, by index.
        facts: what the log says about the machine.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.facts = LogFacts()
        self._forbidden: dict[LinePattern, bool] = {}  # marks of `without`, and if they were seen
        self._starts: dict[LinePattern, list[Watch]] = defaultdict(list)
        self._marks: dict[LinePattern, list[Watch]] = defaultdict(list)
        for entry in entries:
            for signature in entry.signatures:
                self._add(Watch(entry, signature))
        self._of_facts = frozenset(knowledge().patterns)
        used = (*self._starts, *self._marks, *self._forbidden, *knowledge().patterns)
        self.patterns = tuple(dict.fromkeys(used))
        self._index = {pattern: index for index, pattern in enumerate(self.patterns)}
        self.wanted = {i for i, pattern in enumerate(self.patterns) if self._needed(pattern)}
        self.patience = {
            i: PATIENCE
            for i, p in enumerate(self.patterns)
            if p in self._of_facts and not (p in self._starts or p in self._marks)
        }

    def _add(self, watch: Watch) -> None:
        signature = watch.signature
        self._starts[signature.pattern].append(watch)
        for pattern in {*signature.before, *signature.after}:
            self._marks[pattern].append(watch)
        self._forbidden |= dict.fromkeys(signature.without, False)

    def take(
        self, index: int, line: int, text: str, groups: dict[str, str], recent: Recent
    ) -> None:
        """Take a line that matches a pattern."""
        pattern = self.patterns[index]
        hit = Hit(line, text, groups)
        if pattern in self._of_facts:
            for name, value in groups.items():
                self.facts.add(name, value, line, text)
        if pattern in self._forbidden:
            self._forbidden[pattern] = True
        concerned = [*self._starts.get(pattern, ()), *self._marks.get(pattern, ())]
        for watch in self._starts.get(pattern, ()):
            watch.take(hit, recent)
        for watch in self._marks.get(pattern, ()):
            watch.mark(pattern, hit)
        self._review(pattern)
        for watch in concerned:
            self._review(watch.signature.pattern)
            for mark in watch.signature.after:
                self._review(mark)

    def _review(self, pattern: LinePattern) -> None:
        change = self.wanted.add if self._needed(pattern) else self.wanted.discard
        change(self._index[pattern])

    def _needed(self, pattern: LinePattern) -> bool:
        return (
            pattern in self._of_facts
            or self._forbidden.get(pattern) is False
            or any(watch.open for watch in self._starts.get(pattern, ()))
            or any(watch.awaits(pattern) for watch in self._marks.get(pattern, ()))
        )

    def found(self) -> Iterable[Watch]:
        """Signatures whose lines stand in the log, in the right order; `when` is not looked at."""
        for watches in self._starts.values():
            for watch in watches:
                if watch.complete and not any(self._forbidden[p] for p in watch.signature.without):
                    yield watch
