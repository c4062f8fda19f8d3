"""Match signatures: their first lines in a log, in memory that does not grow with it.

A line is searched only for the patterns of which it can still change the verdict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import Catalogue, Entry, LinePattern, LogSignature
from tritonwin.problems.explain.lines import normalise, segments
from tritonwin.problems.explain.log_facts import LogFacts, Match, knowledge
from tritonwin.problems.explain.scan import AnchoredLine, Scanner

MAX_HITS = 3  # lines of one signature that are kept
PATIENCE = 150  # lines that a fact's pattern may see: versions stand in banners and first errors
# facts of which the first statement says all
ONCE = frozenset({"embedded", "intel_gpu", "of_python", "other_program"})
PIECE = 16_384  # characters of a line that a regular expression sees at once
OVERLAP = 1_024
MAX_PIECES = 64  # of one line, about a million characters
# The folder of a package in a frame of a traceback.
_PACKAGE = re.compile(r"[\\/](?:site|dist)-packages[\\/]{1,2}(\w{2,40})(?:[\\/]|\.py\b)")
# A manual or a comment quotes an error for those who may meet it; nobody has met it here.
_ADVICE = re.compile(r"\b[Ii]f you (?:see|get|encounter|run into)\b")


@dataclass(frozen=True)
class Sought:
    """A signature with its patterns as indexes of `Query.patterns`."""

    entry: Entry
    signature: LogSignature
    pattern: int
    before: frozenset[int]
    after: frozenset[int]
    without: frozenset[int]
    near: tuple[tuple[str, ...], ...]  # anchors, one of each of which stands close before the line


class Query:
    """Everything that is looked for, the same in every log; made once.

    Attributes:
        patterns: those of signatures, of marks and of facts; `scanner` finds their anchors.
        sought: the signatures, in the order of the catalogue.
        concerned: by pattern, the numbers of the signatures that it can change.
        forbidden: the patterns that speak against a signature.
        of_facts: the patterns that tell about the machine.
        first: the patterns that are of use before the first line of a log.
    """

    def __init__(self, known: Catalogue) -> None:
        numbers: dict[LinePattern, int] = {}

        def number(pattern: str | LinePattern) -> int:
            return numbers.setdefault(known.pattern(pattern), len(numbers))

        self.sought = tuple(
            Sought(
                entry=entry,
                signature=each,
                pattern=number(LinePattern(anchors=each.anchors, line=each.line)),
                before=frozenset(map(number, each.before)),
                after=frozenset(map(number, each.after)),
                without=frozenset(map(number, each.without)),
                near=tuple(known.pattern(m).anchors for m in each.before) if each.near else (),
            )
            for entry in known.entries.values()
            for each in entry.signatures
        )
        self.of_facts = frozenset(map(number, knowledge().fact))
        self.patterns = tuple(numbers)
        self.scanner = Scanner(self.patterns)
        self.concerned: Mapping[int, set[int]] = defaultdict(set)
        for place, each in enumerate(self.sought):
            for pattern in (each.pattern, *each.before, *each.after):
                self.concerned[pattern].add(place)
        self.forbidden = frozenset().union(*(each.without for each in self.sought))
        self.first = self.of_facts | self.forbidden
        for each in self.sought:
            self.first |= each.before or {each.pattern}


@dataclass
class Window:
    """A signature in a log: the lines that match it, and those of its marks around them."""

    sought: Sought
    hits: list[Match] = field(default_factory=list)
    before: dict[int, Match] = field(default_factory=dict)
    after: dict[int, Match] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return bool(self.hits) and len(self.after) == len(self.sought.after)

    def needs(self, index: int) -> bool:
        """True where a line that matches the pattern would change the verdict."""
        sought = self.sought
        return (
            (index == sought.pattern and self._open)
            or (index in sought.before and index not in self.before)
            or (index in sought.after and bool(self.hits) and index not in self.after)
        )

    def take(self, index: int, match: Match, line: AnchoredLine) -> None:
        sought = self.sought
        if (
            index == sought.pattern
            and self._open
            and all(seen.line < match.line for seen in self.before.values())
            and all(known.line != match.line for known in self.hits)
            and all(any(a in line.before for a in anchors) for anchors in sought.near)
        ):
            owned = _owned(match, sought.signature.owner, line)
            self.hits += [owned] if owned else []
        if index in sought.before:
            self.before.setdefault(index, match)
        if index in sought.after and self.hits and match.line > self.hits[0].line:
            self.after.setdefault(index, match)

    @property
    def _open(self) -> bool:
        return len(self.hits) < MAX_HITS and len(self.before) == len(self.sought.before)


class Matches:
    """The lines of a log that match, as far as the verdict needs them.

    Attributes:
        facts: the log's statements about the machine.
        given_up: the patterns of facts that have seen enough lines.
    """

    def __init__(self, query: Query) -> None:
        self.facts = LogFacts()
        self._query = query
        self.given_up: set[int] = set()
        self._wanted = set(query.first)  # the patterns that are of use now
        self._windows: dict[int, Window] = {}  # by the number of the signature, once a line matched
        self._forbidden: set[int] = set()  # patterns of `without` that were seen
        self._patience = {
            index: PATIENCE for index in query.of_facts if index not in query.concerned
        }

    def look(self, line: AnchoredLine) -> None:
        """Search a line with the patterns whose anchors stand in it."""
        for part in segments(line.text):
            for piece in islice(pieces(part), MAX_PIECES):
                if indexes := line.patterns & self._wanted:
                    self._search(line, piece, indexes)

    def _search(self, line: AnchoredLine, piece: str, indexes: frozenset[int]) -> None:
        text = normalise(piece)
        if "f you " in text and _ADVICE.search(text):
            return
        for index in sorted(indexes):
            groups = match(self._query.patterns[index], text)
            if groups is not None:
                self._take(index, Match(line.number, piece, groups), line)
            if index in self._patience:
                self._patience[index] -= 1
                if self._patience[index] <= 0:
                    self._wanted.discard(index)
                    self.given_up.add(index)

    def _take(self, index: int, match: Match, line: AnchoredLine) -> None:
        if index in self._query.of_facts:
            # a version ends before the dot of its sentence; in an address the plus is spelled out
            ended = {n: v.rstrip(".").replace("%2B", "+") for n, v in match.groups.items()}
            self.facts.add(Match(match.line, match.text, ended))
            if index in self._patience and match.groups.keys() <= ONCE:
                self._patience[index] = 0
        if index in self._query.forbidden:
            self._forbidden.add(index)
        changed = {index}
        for number in self._query.concerned.get(index, ()):
            window = self._window(number)
            window.take(index, match, line)
            changed |= {window.sought.pattern, *window.sought.after}
        for pattern in changed:
            (self._wanted.add if self._needed(pattern) else self._wanted.discard)(pattern)

    def _needed(self, index: int) -> bool:
        return (
            index in self._query.of_facts
            or (index in self._query.forbidden and index not in self._forbidden)
            or any(self._window(n).needs(index) for n in self._query.concerned.get(index, ()))
        )

    def _window(self, number: int) -> Window:
        if number not in self._windows:
            self._windows[number] = Window(self._query.sought[number])
        return self._windows[number]

    def found(self) -> Iterator[Window]:
        """Signatures whose lines stand in the log, in order; `when` is not looked at."""
        for _, window in sorted(self._windows.items()):
            if window.complete and self._forbidden.isdisjoint(window.sought.without):
                yield window


def _owned(match: Match, owner: str | None, line: AnchoredLine) -> Match | None:
    """The match with the package of the last frame before it; None where that is another one."""
    if owner is None:
        return match
    frames = _PACKAGE.findall(line.before)
    if not frames or not re.fullmatch(catalogue.load().expression(owner), frames[-1]):
        return None
    return Match(match.line, match.text, {"package": frames[-1], **match.groups})


def pieces(line: str) -> Iterable[str]:
    """A line in pieces that overlap, so that no pattern is cut in all of them."""
    if len(line) <= PIECE:
        return (line,)
    return (line[i : i + PIECE] for i in range(0, len(line), PIECE - OVERLAP))


def match(pattern: LinePattern, text: str) -> dict[str, str] | None:
    """The groups of a pattern in a normalised line; None where it does not match."""
    if not any(anchor in text for anchor in pattern.anchors):
        return None
    if pattern.line is None:
        return {}
    found = compiled(pattern.line).search(text)
    return {n: v for n, v in found.groupdict().items() if v} if found else None


@cache
def compiled(line: str) -> re.Pattern[str]:
    """The `line` of a pattern as an expression."""
    return re.compile(catalogue.load().expression(line))
