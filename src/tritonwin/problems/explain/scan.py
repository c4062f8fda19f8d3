"""Find the lines of a log that may match one of many patterns, in passes that run in C.

A block is cut into words, of which each is taken once: logs repeat themselves. Only an anchor whose
words all begin like one of them is looked for in the block. Time is linear in the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from itertools import accumulate
from typing import NamedTuple

from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.explain.lines import joined, plain_characters

NEAR = 30_000  # characters before a line that belong to it: a long traceback
START = 8  # letters of words that are compared

# How characters that normalising changes may stand in a log as it is: in a page, in a literal.
_SPELLINGS = {
    "&": ("&", "&amp;"),
    "<": ("<", "&lt;"),
    ">": (">", "&gt;"),
    "\\": ("\\", "\\\\", "\\\\\\\\"),
    "'": ("'", "&#39;", "&#x27;", "\\'"),
    '"': ('"', "&quot;", "&#34;", '\\"'),
}
# Blanks between words, and one digit for all: numbers are what makes the words of a log many.
_TO_WORDS = str.maketrans(
    {
        character: "0" if character.isdigit() else " "
        for character in map(chr, range(128))
        if not (character.isalpha() or character == "_")
    }
)


class AnchoredLine(NamedTuple):
    """A line in which anchors stand.

    Attributes:
        last: the number of the last line that it was joined from.
        patterns: indexes of the patterns of those anchors.
        block: the text that it stands in, in plain characters, and where it begins there.
    """

    number: int
    last: int
    text: str
    patterns: frozenset[int]
    block: str
    start: int

    @property
    def before(self) -> str:
        """The NEAR characters before the line."""
        return self.block[max(0, self.start - NEAR) : self.start]


class Scanner:
    """Finds the lines in which anchors of patterns stand, in any number of logs."""

    def __init__(self, patterns: Iterable[LinePattern]) -> None:
        # every anchor in every spelling, with the indexes of its patterns
        self._texts: dict[str, set[int]] = defaultdict(set)
        for index, pattern in enumerate(patterns):
            for text in (text for anchor in pattern.anchors for text in spellings(anchor)):
                self._texts[text].add(index)
        self._starts = {
            text: frozenset(word[:START] for word in _words(text) if len(word) > 1)
            for text in self._texts
        }

    def candidates(
        self, block: str, first: int, start: int = 0, without: Set[int] = frozenset()
    ) -> Iterator[AnchoredLine]:
        """The lines of a block with anchors, in order, from a position on.

        Args:
            first: the number of the line at that position.
            without: indexes of patterns that are not looked for.
        """
        plain = plain_characters(block)
        starts: dict[int, set[int]] = defaultdict(set)
        for text in self._texts_of(plain):
            indexes = self._texts[text] - without
            at = plain.find(text, start) if indexes else -1
            while at >= 0:
                starts[plain.rfind("\n", start, at) + 1 or start] |= indexes
                end = plain.find("\n", at)
                at = plain.find(text, end) if end >= 0 else -1
        for begin in sorted(starts):
            first += block.count("\n", start, begin)
            start, end = begin, block.find("\n", begin)
            line = block[begin : end if end >= 0 else len(block)]
            yield AnchoredLine(first, first, line, frozenset(starts[begin]), plain, begin)

    def wrapped(self, block: str) -> Iterator[AnchoredLine]:
        """The lines with anchors that a log may have had before its beginning was wrapped."""
        lines = block.split("\n")
        readings = list(joined(lines))
        # most logs of narrow lines were not wrapped, and nothing is to be found in lines joined
        together = plain_characters("\n".join(text for _, _, text in readings))
        if texts := [text for text in self._texts_of(together) if text in together]:
            plain = plain_characters(block)
            starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
            for begin, end, line in readings:
                anchored = (self._texts[t] for t in texts if t in plain_characters(line))
                if patterns := frozenset().union(*anchored):
                    yield AnchoredLine(begin + 1, end + 1, line, patterns, plain, starts[begin])

    def _texts_of(self, plain: str) -> Iterator[str]:
        """The anchors that may stand in a text: all of their words and pieces do."""
        pieces = " ".join(set(plain.split()))
        words = set(_words(pieces))
        # in a literal, "\n" stands before the word that began a line
        words |= {word[1:] for word in words if word[0] in "nrt"}
        starts = {word[:length] for word in words for length in range(2, START + 1)}
        for text, needed in self._starts.items():
            if needed <= starts and all(piece in pieces for piece in text.split()):
                yield text


def spellings(anchor: str) -> list[str]:
    """The anchor as it may stand in a page or in a literal."""
    found = [anchor]
    for character, ways in _SPELLINGS.items():
        if character in anchor:
            found = [text.replace(character, way) for text in found for way in ways]
    return found


def _words(text: str) -> list[str]:
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return plain.translate(_TO_WORDS).split()
