"""Find the lines of a log that may match one of many patterns, in passes that run in C.

A block is cut into words, of which each is taken once: logs repeat themselves. Only an anchor whose
words all begin like one of them is looked for in the block. Time is linear in the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial
from typing import NamedTuple

from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.explain.lines import plain_characters, without_escapes

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
        patterns: indexes of the patterns of those anchors.
        before: returns the NEAR characters before the line; until the next one is asked for.
    """

    number: int
    text: str
    patterns: frozenset[int]
    before: Callable[[], str]


class Scanner:
    """Finds candidates in the blocks of a log, which it is given in order."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._tail = ""

    def candidates(
        self, block: str, first: int, wanted: Set[int], among: Iterable[str] | None = None
    ) -> Iterator[AnchoredLine]:
        """The candidates of a block of lines, in order.

        Args:
            first: the number of the block's first line.
            wanted: indexes of patterns; it may change while the lines are looked at.
            among: the anchors that may stand in the block, where they are known.
        """
        block = without_escapes(block)
        plain = plain_characters(block)
        texts = set(self._index.texts_of(plain) if among is None else among)
        position = 0
        while texts and position < len(block):
            looked_for = frozenset(wanted)
            for start, indexes in self._starts(plain, position, texts, looked_for):
                first += block.count("\n", position, start)
                end = block.find("\n", start)
                position = (end if end >= 0 else len(block)) + 1
                before = partial(self._before, plain, start)
                yield AnchoredLine(first, block[start : position - 1], indexes, before)
                first += 1
                if not looked_for.issuperset(wanted):
                    break
            else:
                break
        self._tail = self._before(plain, len(plain))

    def candidate(self, number: int, line: str, texts: Iterable[str]) -> AnchoredLine:
        """A line that is not in the blocks, such as one that was wrapped.

        Args:
            texts: the anchors that may stand in it.
        """
        plain = plain_characters(line)
        patterns = frozenset().union(*(self._index.texts[t] for t in texts if t in plain))
        return AnchoredLine(number, line, patterns, lambda: self._tail)

    def texts_in(self, text: str) -> list[str]:
        """The anchors that stand in a text."""
        plain = plain_characters(text)
        return [text for text in self._index.texts_of(plain) if text in plain]

    def _before(self, block: str, position: int) -> str:
        """The NEAR characters before a position in a block, some of them from blocks before it."""
        missing = NEAR - position
        return (self._tail[-missing:] if missing > 0 else "") + block[max(0, -missing) : position]

    def _starts(
        self, block: str, position: int, texts: set[str], wanted: frozenset[int]
    ) -> Iterator[tuple[int, frozenset[int]]]:
        """Starts of lines with wanted anchors, from a position on, and the anchors' patterns.

        Texts that the rest of the block does not hold are taken out.
        """
        starts: dict[int, set[int]] = defaultdict(set)
        for text in tuple(texts):
            indexes = self._index.texts[text] & wanted
            at = block.find(text, position) if indexes else -1
            if indexes and at < 0:
                texts.discard(text)
            while at >= 0:
                starts[block.rfind("\n", position, at) + 1 or position] |= indexes
                end = block.find("\n", at)
                at = block.find(text, end) if end >= 0 else -1
        for start in sorted(starts):
            yield start, frozenset(starts[start])


class Index:
    """The anchors of patterns by the words that the fast search looks for.

    Attributes:
        texts: every anchor in every spelling, with the indexes of its patterns.
    """

    def __init__(self, patterns: Iterable[LinePattern]) -> None:
        self.texts: dict[str, set[int]] = defaultdict(set)
        for index, pattern in enumerate(patterns):
            for text in (text for anchor in pattern.anchors for text in spellings(anchor)):
                self.texts[text].add(index)
        self._starts = {
            text: frozenset(word[:START] for word in _words(text) if len(word) > 1)
            for text in self.texts
        }

    def texts_of(self, plain: str) -> Iterator[str]:
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
