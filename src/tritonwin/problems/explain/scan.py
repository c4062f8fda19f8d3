"""Search a log for many patterns in one pass: a few passes in C over all, Python for few lines.

A block is cut at blanks into tokens. Logs repeat themselves, so most tokens have been seen and hold
nothing; only new ones are cut into words, and only where a word begins like the word of a pattern's
key (see catalogue/anchors.py) is there more to do. A line is looked at when it holds a token that
holds a key of a pattern that is still wanted. Time is linear in the log: a token is searched once,
a line in pieces of bounded length once per pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, KeysView
from functools import cache
from itertools import islice
from typing import Protocol

from tritonwin.problems.explain.index import index_of
from tritonwin.problems.explain.normalise import normalise, segments, without_escapes
from tritonwin.problems.model import LinePattern

MEMORY = 16_000_000  # bytes of tokens that are remembered, about
PER_TOKEN = 100  # bytes that a token takes beside its text
PIECE = 16_384  # characters of a line that a regular expression sees at once
OVERLAP = 1_024
MAX_PIECES = 64  # of one line, about a million characters

FEW = 12  # tokens that are found one by one faster than line by line


class Sink(Protocol):
    """Who takes the matches, and says which patterns are of use at any moment."""

    wanted: set[int]
    patience: dict[int, int]  # how many lines a pattern may see before it is given up

    def take(self, index: int, line: int, text: str, groups: dict[str, str]) -> None:
        """Pattern `index` matches the line of that number, as it was read."""


class Scanner:
    """Feeds a sink with the lines that match patterns, in the order of the log."""

    def __init__(self, patterns: tuple[LinePattern, ...], sink: Sink) -> None:
        self._patterns = patterns
        self._sink = sink
        self._index = index_of(patterns)
        self._used = 0
        self._clean: set[str] = set()
        self._hot: dict[str, frozenset[int]] = {}

    def feed(self, block: str, first: int) -> None:
        """Search a block of lines; `first` is the number of its first line."""
        if "\x1b" in block:
            block = without_escapes(block)
        if self._used > MEMORY:
            self._clean.clear()
            self._hot.clear()
            self._used = 0
        tokens = set(block.split())
        self._learn(tokens - self._clean - self._hot.keys())
        known = tokens & self._hot.keys()
        position = 0
        while known and position < len(block):
            position, first = self._search(block, position, first, known)

    def _search(self, block: str, position: int, first: int, known: set[str]) -> tuple[int, int]:
        """Search from a position until more patterns are wanted; where, and in which line."""
        wanted = frozenset(self._sink.wanted)
        hot = {token: w for token in known if (w := self._hot[token] & wanted)}
        names = hot.keys()
        for number, line, end in lines_with(block, position, first, names):
            words = names & line.split()
            if words:
                self._line(number, line, frozenset().union(*(hot[w] for w in words)))
                if not wanted.issuperset(self._sink.wanted):
                    return end, number + 1
        return len(block), first

    def feed_line(self, number: int, line: str) -> None:
        """Search one line that is not in the blocks, such as one put together again."""
        indexes = self._index.patterns_in(line.split())
        self._line(number, line, frozenset().union(*indexes.values()))

    def _learn(self, tokens: set[str]) -> None:
        hot = self._index.patterns_in(tokens)
        self._used += sum(map(len, tokens)) + PER_TOKEN * len(tokens)
        self._clean |= tokens - hot.keys()
        self._hot.update(hot)

    def _line(self, number: int, line: str, indexes: frozenset[int]) -> None:
        for part in segments(line):
            for piece in islice(pieces(part), MAX_PIECES):
                if indexes := indexes & self._sink.wanted:
                    self._piece(number, piece, indexes)

    def _piece(self, number: int, line: str, indexes: frozenset[int]) -> None:
        text = normalise(line)
        sink = self._sink
        for index in sorted(indexes):
            groups = match(self._patterns[index], text)
            if groups is not None:
                sink.take(index, number, line, groups)
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


def lines_with(
    block: str, position: int, first: int, names: KeysView[str]
) -> Iterator[tuple[int, str, int]]:
    """The lines from a position on that hold one of the tokens, and perhaps some more.

    Each comes as (its number, the line, where the next one begins); `first` is the number of the
    line at the position.
    """
    if len(names) > FEW:
        for number, line in enumerate(block[position:].split("\n"), first):
            position += len(line) + 1
            if not names.isdisjoint(line.split()):
                yield number, line, position
        return
    for start in sorted(_starts(block, position, names)):
        first += block.count("\n", position, start)
        end = block.find("\n", start)
        position = (end if end >= 0 else len(block)) + 1
        yield first, block[start : position - 1], position
        first += 1


def _starts(block: str, position: int, names: KeysView[str]) -> set[int]:
    """Where the lines begin that hold one of a few names, each searched for by itself."""
    starts = set()
    for name in names:
        at = block.find(name, position)
        while at >= 0:
            starts.add(block.rfind("\n", position, at) + 1 or position)
            end = block.find("\n", at)
            at = block.find(name, end) if end >= 0 else -1
    return starts
