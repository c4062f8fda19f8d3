"""Search a log for many patterns in one pass: few passes in C over all, Python for few lines.

A block is cut at blanks into tokens. Logs repeat themselves, so most tokens have been seen and hold
nothing; only new ones are searched for the keys of the patterns (see `signatures.key`), all in one
go. A line is looked at when it holds a token that holds a key of a pattern that is still wanted.
Time is linear in the log: a token is searched once, a line of bounded length once per pattern.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from tritonwin.problems.catalogue.signatures import BOUNDARY, key
from tritonwin.problems.explain.literals import trie_regex
from tritonwin.problems.explain.normalise import normalise, segments
from tritonwin.problems.model import LinePattern

MAX_TOKENS = 50_000  # remembered, clean and hot together twice that: about 20 MB
MAX_TOKEN = 256  # characters of a token that is worth remembering
PIECE = 16_384  # characters of a line that a regular expression sees at once
OVERLAP = 1_024

# called with the pattern's index, the line's number, the line as read and the groups found;
# the answer says whether the pattern is still wanted
Sink = Callable[[int, int, str, dict[str, str]], bool]


class Scanner:
    """Feeds a sink with the lines that match patterns, in the order of the log."""

    def __init__(
        self, patterns: Sequence[LinePattern], sink: Sink, patience: Mapping[int, int]
    ) -> None:
        """`patience`: how many lines a pattern may see before it is given up."""
        self._patterns = patterns
        self._sink = sink
        self._patience = dict(patience)
        self._wanted = set(range(len(patterns)))
        self._keys: dict[str, list[int]] = defaultdict(list)
        for index, pattern in enumerate(patterns):
            for anchor in pattern.anchors:
                self._keys[key(anchor)].append(index)
        self._search = trie_regex(self._keys)
        self._clean: set[str] = set()
        self._hot: dict[str, frozenset[int]] = {}

    def feed(self, block: str, first: int) -> None:
        """Search a block of lines; `first` is the number of its first line."""
        tokens = set(block.split())
        self._learn(tokens - self._clean - self._hot.keys())
        wanted = self._wanted
        hot = {t: w for t in tokens & self._hot.keys() if (w := self._hot[t] & wanted)}
        if not hot:
            return
        names = hot.keys()
        for offset, line in enumerate(block.split("\n")):
            if names.isdisjoint(words := line.split()):
                continue
            found = frozenset().union(*(hot[w] for w in names & words))
            self._line(first + offset, line, found)

    def feed_line(self, number: int, line: str) -> None:
        """Search one line that is not in the blocks, such as one put together again."""
        text = BOUNDARY.join(line.split())
        self._line(number, line, frozenset(self._patterns_in(text)))

    def _learn(self, tokens: set[str]) -> None:
        text = "".join(f"{BOUNDARY}{token}{BOUNDARY}" for token in tokens)
        hot = set()
        end = 0
        while found := self._search.search(text, end):
            start = text.rfind(BOUNDARY, 0, found.start() + 1) + 1
            end = text.find(BOUNDARY, start)
            hot.add(text[start:end])
        if len(self._clean) + len(tokens) > MAX_TOKENS:
            self._clean.clear()
        if len(self._hot) + len(hot) > MAX_TOKENS:
            self._hot.clear()
        self._clean |= tokens - hot
        for token in hot:
            self._hot[token] = frozenset(self._patterns_in(token))

    def _patterns_in(self, token: str) -> Iterator[int]:
        bounded = f"{BOUNDARY}{token}{BOUNDARY}"
        for literal, indexes in self._keys.items():
            if literal in bounded:
                yield from indexes

    def _line(self, number: int, line: str, indexes: frozenset[int]) -> None:
        for part in segments(line):
            for piece in pieces(part):
                text = normalise(piece)
                for index in sorted(indexes & self._wanted):
                    self._try(index, number, piece, text)

    def _try(self, index: int, number: int, line: str, text: str) -> None:
        groups = match(self._patterns[index], text)
        if groups is not None and not self._sink(index, number, line, groups):
            self._wanted.discard(index)
        if index in self._patience:
            self._patience[index] -= 1
            if self._patience[index] <= 0:
                self._wanted.discard(index)


def match(pattern: LinePattern, text: str) -> dict[str, str] | None:
    """The groups of a pattern in a normalised line; None where it does not match."""
    if not any(anchor in text for anchor in pattern.anchors):
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
