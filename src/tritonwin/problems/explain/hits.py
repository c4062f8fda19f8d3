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


class Sought:
    """What is looked for, the same in every log; made once, it takes longer than a short log.

    Attributes:
        patterns: everything to be looked for, at one time or another.
        index: the place of each in `patterns`.
        signatures: with their entries, those of one pattern together; spoken of by number.
        starts: the signatures that begin with a pattern.
        marks: the signatures that look for it before or after.
        forbidden: what speaks against a signature.
        of_facts: what tells about the machine.
        first: indexes of what is of use as long as nothing has been seen.
        patience: how many lines a pattern may see before it is given up, by index.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        found = [(entry, s) for entry in entries for s in entry.signatures]
        order = {p: n for n, p in enumerate(dict.fromkeys(s.pattern for _, s in found))}
        self.signatures = sorted(found, key=lambda each: order[each[1].pattern])
        self.starts: dict[LinePattern, list[int]] = defaultdict(list)
        self.marks: dict[LinePattern, list[int]] = defaultdict(list)
        forbidden: dict[LinePattern, None] = {}
        for number, (_, signature) in enumerate(self.signatures):
            self.starts[signature.pattern].append(number)
            for pattern in dict.fromkeys((*signature.before, *signature.after)):
                self.marks[pattern].append(number)
            forbidden |= dict.fromkeys(signature.without)
        self.forbidden = frozenset(forbidden)
        self.of_facts = frozenset(knowledge().patterns)
        used = (*self.starts, *self.marks, *forbidden, *knowledge().patterns)
        self.patterns = tuple(dict.fromkeys(used))
        self.index = {pattern: index for index, pattern in enumerate(self.patterns)}
        early = {s.pattern for _, s in self.signatures if not s.before}
        early.update(pattern for _, s in self.signatures for pattern in s.before)
        self.first = frozenset(
            self.index[pattern] for pattern in early | self.forbidden | self.of_facts
        )
        alone = self.of_facts - self.starts.keys() - self.marks.keys()
        self.patience = {self.index[pattern]: PATIENCE for pattern in alone}


class Collector:
    """Receives the lines that match and keeps what the verdict needs.

    Attributes:
        patterns: everything to be looked for, at one time or another.
        wanted: indexes of those that are of use now; the scan reads it as it changes.
        patience: how many lines a pattern may see before it is given up, by index.
        facts: what the log says about the machine.
    """

    def __init__(self, sought: Sought) -> None:
        self.facts = LogFacts()
        self.patterns = sought.patterns
        self.wanted = set(sought.first)
        self.patience = dict(sought.patience)
        self._sought = sought
        self._forbidden: set[LinePattern] = set()  # marks of `without` that were seen
        self._watches: dict[int, Watch] = {}  # those that a line concerned, by number

    def _watched(self, numbers: Iterable[int]) -> list[Watch]:
        for number in numbers:
            if number not in self._watches:
                self._watches[number] = Watch(*self._sought.signatures[number])
        return [self._watches[number] for number in numbers]

    def take(
        self, index: int, line: int, text: str, groups: dict[str, str], recent: Recent
    ) -> None:
        """Take a line that matches a pattern."""
        pattern = self.patterns[index]
        hit = Hit(line, text, groups)
        if pattern in self._sought.of_facts:
            for name, value in groups.items():
                self.facts.add(name, value, line, text)
        if pattern in self._sought.forbidden:
            self._forbidden.add(pattern)
        starts = self._watched(self._sought.starts.get(pattern, ()))
        marks = self._watched(self._sought.marks.get(pattern, ()))
        for watch in starts:
            watch.take(hit, recent)
        for watch in marks:
            watch.mark(pattern, hit)
        self._review(pattern)
        for watch in (*starts, *marks):
            self._review(watch.signature.pattern)
            for mark in watch.signature.after:
                self._review(mark)

    def _review(self, pattern: LinePattern) -> None:
        change = self.wanted.add if self._needed(pattern) else self.wanted.discard
        change(self._sought.index[pattern])

    def _needed(self, pattern: LinePattern) -> bool:
        sought = self._sought
        return (
            pattern in sought.of_facts
            or (pattern in sought.forbidden and pattern not in self._forbidden)
            or any(watch.open for watch in self._watched(sought.starts.get(pattern, ())))
            or any(w.awaits(pattern) for w in self._watched(sought.marks.get(pattern, ())))
        )

    def found(self) -> Iterable[Watch]:
        """Signatures whose lines stand in the log, in the right order; `when` is not looked at."""
        for _, watch in sorted(self._watches.items()):
            if watch.complete and self._forbidden.isdisjoint(watch.signature.without):
                yield watch
