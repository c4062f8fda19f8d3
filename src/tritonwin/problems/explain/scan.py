"""Search a log for many patterns in one pass: a few passes in C over all, Python for few lines.

A block is cut at blanks into tokens. Logs repeat themselves, so most tokens have been seen and hold
nothing; only new ones are cut into words, and only where a word begins like the word of an anchor
(see catalogue/anchors.py) is there more to do: the anchors that may be there are looked for in the
block, and the lines that they stand in are searched with the patterns' expressions. Time is linear
in the log: a token is searched once, a line in pieces of bounded length once per pattern.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from typing import Protocol

from tritonwin.problems.explain.index import index_of
from tritonwin.problems.explain.normalise import (
    normalise,
    plain_characters,
    segments,
    without_escapes,
)
from tritonwin.problems.model import LinePattern

MEMORY = 16_000_000  # bytes of tokens that are remembered, about
PER_TOKEN = 100  # bytes that a token takes beside its text
PIECE = 16_384  # characters of a line that a regular expression sees at once
OVERLAP = 1_024
MAX_PIECES = 64  # of one line, about a million characters
# A manual or a comment quotes an error for those who may meet it; nobody has met it here.
_ADVICE = re.compile(r"\b[Ii]f you (?:see|get|encounter|run into)\b")
NEAR = 30_000  # characters before a line in which what belongs to it stands: a long traceback
FEW = 40  # texts that are found one by one faster than line by line


Recent = Callable[[], str]  # the NEAR characters before a line


class Sink(Protocol):
    """Who takes the matches, and says which patterns are of use at any moment."""

    wanted: set[int]
    patience: dict[int, int]  # how many lines a pattern may see before it is given up

    def take(
        self, index: int, line: int, text: str, groups: dict[str, str], recent: Recent
    ) -> None:
        """Pattern `index` matches the line of that number, as it was read."""


class Scanner:
    """Feeds a sink with the lines that match patterns, in the order of the log."""

    def __init__(self, patterns: tuple[LinePattern, ...], sink: Sink) -> None:
        self._patterns = patterns
        self._sink = sink
        self._index = index_of(patterns)
        self._used = 0
        self._tail = ""
        self._seen: set[str] = set()
        self._hot: dict[str, frozenset[str]] = {}

    def feed(self, block: str, first: int) -> None:
        """Search a block of lines; `first` is the number of its first line."""
        block = without_escapes(block)
        plain = plain_characters(block)
        tokens = set(plain.split())
        self._learn(tokens)
        hot = {token: self._hot[token] for token in tokens & self._hot.keys()}
        position = 0
        while hot and position < len(block):
            position, first = self._search(block, plain, position, first, hot)
        self._tail = self._before(plain, len(plain))

    def patterns_in(self, text: str) -> frozenset[int]:
        """The patterns that a text may match, wanted or not."""
        return self._index.patterns_in(text)

    def feed_line(self, number: int, line: str) -> None:
        """Search one line that is not in the blocks, such as one put together again."""
        self._line(number, line, self._index.patterns_in(line), lambda: self._tail)

    def _before(self, block: str, position: int) -> str:
        """The NEAR characters before a position in a block, some of them from blocks before it."""
        missing = NEAR - position
        return (self._tail[-missing:] if missing > 0 else "") + block[max(0, -missing) : position]

    def _learn(self, tokens: set[str]) -> None:
        if self._used > MEMORY:
            self._seen.clear()
            self._hot.clear()
            self._used = 0
        fresh = tokens - self._seen
        self._hot.update(self._index.texts_by_token(fresh))
        self._seen |= fresh
        self._used += sum(map(len, fresh)) + PER_TOKEN * len(fresh)

    def _search(
        self, block: str, plain: str, position: int, first: int, hot: Mapping[str, frozenset[str]]
    ) -> tuple[int, int]:
        """Search from a position until more patterns are wanted; where, and in which line."""
        wanted = frozenset(self._sink.wanted)
        maybe = frozenset().union(*hot.values())
        texts = {text: w for text in maybe if (w := self._index.texts[text] & wanted)}
        find = by_text if len(texts) <= FEW else by_token
        for start, indexes in find(plain, position, texts, hot):
            first += block.count("\n", position, start)
            end = block.find("\n", start)
            position = (end if end >= 0 else len(block)) + 1
            recent = partial(self._before, plain, start)
            self._line(first, block[start : position - 1], indexes, recent)
            first += 1
            if not wanted.issuperset(self._sink.wanted):
                return position, first
        return len(block), first

    def _line(self, number: int, line: str, indexes: frozenset[int], recent: Recent) -> None:
        for part in segments(line):
            for piece in islice(pieces(part), MAX_PIECES):
                if indexes := indexes & self._sink.wanted:
                    self._piece(number, piece, indexes, recent)

    def _piece(self, number: int, line: str, indexes: frozenset[int], recent: Recent) -> None:
        text = normalise(line)
        if "f you " in text and _ADVICE.search(text):
            return
        sink = self._sink
        for index in sorted(indexes):
            groups = match(self._patterns[index], text)
            if groups is not None:
                sink.take(index, number, line, groups, recent)
            if index in sink.patience:
                sink.patience[index] -= 1
                if sink.patience[index] <= 0:
                    sink.wanted.discard(index)


def match(pattern: LinePattern, text: str) -> dict[str, str] | None:
    """The groups of a pattern in a normalised line; None where it does not match."""
    for anchor in pattern.anchors:
        if anchor in text:
            break
    else:
        return None
    if pattern.line is None:
        return {}
    found = compiled(pattern.line).search(text)
    return {n: v for n, v in found.groupdict().items() if v} if found else None


@cache
def compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex)


def pieces(line: str) -> Iterable[str]:
    """A line in pieces that overlap, so that no pattern is cut in all of them."""
    if len(line) <= PIECE:
        return (line,)
    return (line[i : i + PIECE] for i in range(0, len(line), PIECE - OVERLAP))


Texts = Mapping[str, set[int]]
Hot = Mapping[str, frozenset[str]]


def by_text(
    block: str, position: int, texts: Texts, hot: Hot
) -> Iterator[tuple[int, frozenset[int]]]:
    """Where lines begin that hold texts, and the patterns of those: for few texts in many lines."""
    del hot
    starts: dict[int, set[int]] = defaultdict(set)
    for text, indexes in texts.items():
        at = block.find(text, position)
        while at >= 0:
            starts[block.rfind("\n", position, at) + 1 or position] |= indexes
            end = block.find("\n", at)
            at = block.find(text, end) if end >= 0 else -1
    for start in sorted(starts):
        yield start, frozenset(starts[start])


def by_token(
    block: str, position: int, texts: Texts, hot: Hot
) -> Iterator[tuple[int, frozenset[int]]]:
    """The same for many texts: line by line, by the tokens that belong to them."""
    names = {token: t for token, found in hot.items() if (t := found & texts.keys())}
    for line in block[position:].split("\n"):
        if not names.keys().isdisjoint(words := line.split()):
            maybe = frozenset().union(*(names[word] for word in words if word in names))
            indexes = frozenset().union(*(texts[text] for text in maybe if text in line))
            if indexes:
                yield position, indexes
        position += len(line) + 1
