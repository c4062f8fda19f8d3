"""Which tokens of a log hold the key of a pattern, found in passes that run in C."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from tritonwin.problems.catalogue.anchors import BOUNDARY, key
from tritonwin.problems.model import LinePattern

_WORD = re.compile(r"\w+")
_TO_WORDS = str.maketrans({c: " " for c in map(chr, range(128)) if not (c.isalnum() or c == "_")})


class Index:
    """Patterns by the words and pieces that the fast search looks for."""

    def __init__(self, patterns: Iterable[LinePattern]) -> None:
        self.pieces: dict[str, dict[str, set[int]]] = defaultdict(dict)  # word -> piece -> patterns
        for index, pattern in enumerate(patterns):
            for anchor in pattern.anchors:
                word, texts = key(anchor)
                for text in texts:
                    self.pieces[word].setdefault(text, set()).add(index)
        self.odd: list[str] = []  # keys that are no words of ASCII
        self.starts: dict[str, list[str]] = defaultdict(list)
        for word in self.pieces:
            plain = word.isascii() and _WORD.fullmatch(word)
            (self.starts[word[:4]] if plain else self.odd).append(word)

    def words_in(self, text: str) -> Iterator[str]:
        """The keys' words that words of the text begin with, and perhaps some more."""
        words = set(text.translate(_TO_WORDS).split() if text.isascii() else _WORD.findall(text))
        starts = {word[:4] for word in words} | {word[:3] for word in words}
        # in a literal, "\n" stands before the word that began a line
        starts |= {word[1:5] for word in words if word[0] in "nrt"}
        for start in starts & self.starts.keys():
            yield from self.starts[start]
        yield from self.odd

    def patterns_in(self, tokens: Iterable[str]) -> dict[str, frozenset[int]]:
        """The tokens that hold keys, each with its patterns."""
        text = BOUNDARY + (BOUNDARY * 2).join(tokens) + BOUNDARY
        found: dict[str, frozenset[int]] = {}
        for word in self.words_in(text):
            for piece, indexes in self.pieces[word].items():
                at = text.find(piece)
                while at >= 0:
                    start = text.rfind(BOUNDARY, 0, at + 1)
                    end = text.find(BOUNDARY, start + 1)
                    token = text[start + 1 : end]
                    found[token] = found.get(token, frozenset()) | indexes
                    at = text.find(piece, end)
        return found


@cache
def index_of(patterns: tuple[LinePattern, ...]) -> Index:
    """The index, made once for a catalogue: it takes longer than searching a short log."""
    return Index(patterns)
