"""Search a log for many patterns in one pass: a few passes in C over all, Python for few lines.

A block is cut at blanks into tokens. Logs repeat themselves, so most tokens have been seen and hold
nothing; only new ones are cut into words, and only where a word begins like the word of a pattern's
key (see catalogue/anchors.py) is there more to do. A line is looked at when it holds a token that
holds a key of a pattern that is still wanted. Time is linear in the log: a token is searched once,
a line in pieces of bounded length once per pattern.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from functools import cache

from tritonwin.problems.catalogue.anchors import BOUNDARY, key
from tritonwin.problems.explain.normalise import normalise, segments, without_escapes
from tritonwin.problems.model import LinePattern

MAX_TOKENS = 50_000  # remembered, clean and hot together twice that: about 20 MB
PIECE = 16_384  # characters of a line that a regular expression sees at once
OVERLAP = 1_024

FEW = 12  # tokens that are found one by one faster than line by line

_WORD = re.compile(r"\w+")
_TO_WORDS = str.maketrans({c: " " for c in map(chr, range(128)) if not (c.isalnum() or c == "_")})

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
        self._keys: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for index, pattern in enumerate(patterns):
            for anchor in pattern.anchors:
                word, texts = key(anchor)
                self._keys[word] += [(text, index) for text in texts]
        self._odd: list[str] = []  # keys that are no words of ASCII
        self._starts: dict[str, list[str]] = defaultdict(list)
        for word in self._keys:
            plain = word.isascii() and _WORD.fullmatch(word)
            (self._starts[word[:4]] if plain else self._odd).append(word)
        self._clean: set[str] = set()
        self._hot: dict[str, frozenset[int]] = {}

    def feed(self, block: str, first: int) -> None:
        """Search a block of lines; `first` is the number of its first line."""
        if "\x1b" in block:
            block = without_escapes(block)
        tokens = set(block.split())
        self._learn(tokens - self._clean - self._hot.keys())
        wanted = self._wanted
        hot = {t: w for t in tokens & self._hot.keys() if (w := self._hot[t] & wanted)}
        if not hot:
            return
        names = hot.keys()
        lines = few_lines if len(hot) <= FEW else all_lines
        for offset, line in lines(block, names):
            words = names & line.split()
            if words:
                self._line(first + offset, line, frozenset().union(*(hot[w] for w in words)))

    def feed_line(self, number: int, line: str) -> None:
        """Search one line that is not in the blocks, such as one put together again."""
        indexes = self._patterns_in(line.split())
        self._line(number, line, frozenset().union(*indexes.values()))

    def _learn(self, tokens: set[str]) -> None:
        hot = self._patterns_in(tokens)
        if len(self._clean) + len(tokens) > MAX_TOKENS:
            self._clean.clear()
        if len(self._hot) + len(hot) > MAX_TOKENS:
            self._hot.clear()
        self._clean |= tokens - hot.keys()
        self._hot.update(hot)

    def _patterns_in(self, tokens: Iterable[str]) -> dict[str, frozenset[int]]:
        """The tokens that hold keys, each with its patterns."""
        text = BOUNDARY + (BOUNDARY * 2).join(tokens) + BOUNDARY
        found: dict[str, frozenset[int]] = {}
        for word in self._words_in(text):
            at = text.find(word)
            while at >= 0:
                start, end = text.rfind(BOUNDARY, 0, at), text.find(BOUNDARY, at)
                bounded = text[start : end + 1]
                indexes = [index for piece, index in self._keys[word] if piece in bounded]
                if indexes:
                    token = bounded[1:-1]
                    found[token] = found.get(token, frozenset()).union(indexes)
                at = text.find(word, end)
        return found

    def _words_in(self, text: str) -> Iterator[str]:
        """The keys' words that words of the text begin with, and perhaps some more."""
        words = set(text.translate(_TO_WORDS).split() if text.isascii() else _WORD.findall(text))
        starts = {word[:4] for word in words} | {word[:3] for word in words}
        # in a literal, "\n" stands before the word that began a line
        starts |= {word[1:5] for word in words if word[0] in "nrt"}
        for start in starts & self._starts.keys():
            yield from self._starts[start]
        yield from self._odd

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


def all_lines(block: str, names: KeysView[str]) -> Iterator[tuple[int, str]]:
    """The lines of a block that hold one of the tokens, numbered from 0."""
    for number, line in enumerate(block.split("\n")):
        if not names.isdisjoint(line.split()):
            yield number, line


def few_lines(block: str, names: KeysView[str]) -> Iterator[tuple[int, str]]:
    """The same, and perhaps more lines, for few tokens that stand in few lines."""
    starts = set()
    for name in names:
        at = block.find(name)
        while at >= 0:
            starts.add(block.rfind("\n", 0, at) + 1)
            end = block.find("\n", at)
            at = block.find(name, end) if end >= 0 else -1
    number = position = 0
    for start in sorted(starts):
        number += block.count("\n", position, start)
        position = start
        end = block.find("\n", start)
        yield number, block[start : end if end >= 0 else len(block)]
