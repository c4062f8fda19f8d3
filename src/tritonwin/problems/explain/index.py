"""Which tokens of a log hold the key of a pattern, found in passes that run in C."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from tritonwin.problems.catalogue.anchors import BOUNDARY, keys
from tritonwin.problems.explain.normalise import plain_characters
from tritonwin.problems.model import LinePattern

_WORD = re.compile(r"\w+")
# Blanks between words, and one digit for all: numbers are what makes the words of a log many.
_TO_WORDS = str.maketrans(
    {
        character: "0" if character.isdigit() else " "
        for character in map(chr, range(128))
        if not (character.isalpha() or character == "_")
    }
)


class Index:
    """The anchors of patterns by the words and pieces that the fast search looks for.

    Attributes:
        texts: every anchor in every spelling, with the indexes of its patterns.
    """

    def __init__(self, patterns: Iterable[LinePattern]) -> None:
        self.texts: dict[str, set[int]] = defaultdict(set)
        # word -> piece -> texts
        self._pieces: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for index, pattern in enumerate(patterns):
            for word, piece, text in (key for anchor in pattern.anchors for key in keys(anchor)):
                self._pieces[word][piece].add(text)
                self.texts[text].add(index)
        self._odd: list[str] = []  # keys that are no words of ASCII
        self._starts: dict[str, list[str]] = defaultdict(list)
        for word in self._pieces:
            plain = word.isascii() and _WORD.fullmatch(word)
            (self._starts[_words(word)[0][:4]] if plain else self._odd).append(word)

    def texts_by_token(self, tokens: Iterable[str]) -> dict[str, frozenset[str]]:
        """The tokens that may be part of an anchor, each with the texts of those anchors."""
        text = BOUNDARY + (BOUNDARY * 2).join(tokens) + BOUNDARY
        found: dict[str, frozenset[str]] = {}
        for word in self._words_in(text):
            for piece, texts in self._pieces[word].items():
                at = text.find(piece)
                while at >= 0:
                    start = text.rfind(BOUNDARY, 0, at + 1)
                    end = text.find(BOUNDARY, start + 1)
                    token = text[start + 1 : end]
                    found[token] = found.get(token, frozenset()) | texts
                    at = text.find(piece, end)
        return found

    def patterns_in(self, text: str) -> frozenset[int]:
        """The patterns one of whose anchors stands in a text."""
        plain = plain_characters(text)
        texts = frozenset().union(*self.texts_by_token(set(plain.split())).values())
        return frozenset().union(*(self.texts[t] for t in texts if t in plain))

    def _words_in(self, text: str) -> Iterator[str]:
        """The keys' words that words of the text begin with, and perhaps some more."""
        words = set(_words(text))
        starts = {word[:4] for word in words}
        # in a literal, "\n" stands before the word that began a line
        starts |= {word[1:5] for word in words if word[0] in "nrt"}
        starts |= {start[:3] for start in starts}
        for start in starts & self._starts.keys():
            yield from self._starts[start]
        yield from self._odd


def _words(text: str) -> list[str]:
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return plain.translate(_TO_WORDS).split()


@cache
def index_of(patterns: tuple[LinePattern, ...]) -> Index:
    """The index, made once for a catalogue: it takes longer than searching a short log."""
    return Index(patterns)
