"""Find the lines of a log that may match one of many patterns, in passes that run in C.

A block is cut at blanks into tokens. Logs repeat themselves, so most tokens have been seen and hold
nothing; only new ones are cut into words, and only where a word begins like the rarest word of an
anchor is there more to do: the anchors that may be there are looked for in the block. Time is
linear in the log.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial
from typing import NamedTuple

from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.explain.lines import plain_characters, without_escapes

MEMORY = 16_000_000  # bytes of tokens that are remembered, about
PER_TOKEN = 100  # bytes that a token takes beside its text
NEAR = 30_000  # characters before a line that belong to it: a long traceback
MIN_WORD = 3  # letters of an anchor's word
START = 8  # letters of words that are compared
FEW = 4  # pieces that are looked for one by one
_BOUNDARY = "\n"  # a token's end in a piece; no token holds one

_WORD = re.compile(r"\w+")
# Words that stand in most lines of a build or a traceback: as keys they would find all of them.
_COMMON = frozenset(
    _WORD.findall("""
    base build code command compiler conversion cpython cuda defined driver error errors failed
    fatal file files find for found from include interface invalid kernel lib line microsoft module
    not nvidia object only option package packages program ptxas python recent return site source
    studio supported symbol system target torch traceback triton type undefined unresolved
    unsupported version visual warning win32 windows with
    """)
)
_PIECE = re.compile(r"\S+")
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
        self._used = 0
        self._tail = ""
        self._seen: set[str] = set()
        self._hot: dict[
            str, frozenset[str]
        ] = {}  # tokens with the anchors that they may be part of

    def candidates(self, block: str, first: int, wanted: Set[int]) -> Iterator[AnchoredLine]:
        """The candidates of a block of lines, in order.

        Args:
            first: the number of the block's first line.
            wanted: indexes of patterns; it may change while the lines are looked at.
        """
        block = without_escapes(block)
        plain = plain_characters(block)
        tokens = self.learn(plain)
        texts = set().union(*(self._hot[token] for token in tokens & self._hot.keys()))
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
        texts = frozenset().union(*self._index.by_token(set(plain.split())).values())
        return [text for text in texts if text in plain]

    def _before(self, block: str, position: int) -> str:
        """The NEAR characters before a position in a block, some of them from blocks before it."""
        missing = NEAR - position
        return (self._tail[-missing:] if missing > 0 else "") + block[max(0, -missing) : position]

    def learn(self, text: str) -> set[str]:
        """The tokens of a text, each looked up in the index if it was not seen before.

        What is cut into many pieces is faster where the whole was learned before them.
        """
        if self._used > MEMORY:
            self._seen.clear()
            self._hot.clear()
            self._used = 0
        tokens = set(text.split())
        if fresh := tokens - self._seen:
            self._hot.update(self._index.by_token(fresh))
            self._seen |= fresh
            self._used += sum(map(len, fresh)) + PER_TOKEN * len(fresh)
        return tokens

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
            (self._starts[_words(word)[0][:START]] if plain else self._odd).append(word)

    def by_token(self, tokens: Iterable[str]) -> dict[str, frozenset[str]]:
        """The tokens that may be part of an anchor, each with the texts of those anchors."""
        text = _BOUNDARY + (_BOUNDARY * 2).join(tokens) + _BOUNDARY
        found: dict[str, frozenset[str]] = {}
        for word in self._words_in(text):
            pieces = self._pieces[word]
            # a piece of ASCII holds its word; where it has many pieces, it is looked for alone
            for sought in pieces if len(pieces) <= FEW or word in self._odd else (word,):
                at = text.find(sought)
                while at >= 0:
                    start = text.rfind(_BOUNDARY, 0, at + 1)
                    end = text.find(_BOUNDARY, start + 1)
                    bounded, token = text[start : end + 1], text[start + 1 : end]
                    for piece, texts in pieces.items():
                        if piece in bounded:
                            found[token] = found.get(token, frozenset()) | texts
                    at = text.find(sought, end)
        return found

    def _words_in(self, text: str) -> Iterator[str]:
        """The keys' words that words of the text begin with, and perhaps some more."""
        words = set(_words(text))
        # in a literal, "\n" stands before the word that began a line
        starts = {word[:START] for word in words}
        starts |= {word[1 : START + 1] for word in words if word[0] in "nrt"}
        starts |= {start[:length] for start in starts for length in range(2, START)}
        for start in starts & self._starts.keys():
            yield from self._starts[start]
        yield from (word for word in self._odd if word.isascii() or not text.isascii())


class Key(NamedTuple):
    """Search terms of an anchor, from the fastest test to the surest.

    Attributes:
        word: how a word of the log begins; where a piece has no word ("C/C++"), the piece itself.
        piece: stands in a token, which is what lies between blanks. Where a blank stands beside it
            in the text, so does a boundary: the piece of "torch " is not in "torchvision".
        text: the whole anchor, as it may be spelled; stands in a line.
    """

    word: str
    piece: str
    text: str


def keys(anchor: str) -> tuple[Key, ...]:
    """The keys of an anchor, one for each spelling; none where there is nothing to search for."""
    words = [w for w in _WORD.finditer(anchor) if len(w[0]) >= MIN_WORD]
    pieces = list(_PIECE.finditer(anchor))
    if words:
        word = max(words, key=lambda w: (w[0].lower() not in _COMMON, len(w[0])))
        piece = next(p for p in pieces if p.start() <= word.start() < p.end())
    elif pieces:
        word = piece = max(pieces, key=lambda p: len(p[0]))
    else:
        return ()
    before = _BOUNDARY if anchor[: piece.start()][-1:].isspace() else ""
    after = _BOUNDARY if anchor[piece.end() :][:1].isspace() else ""
    bounded = before + piece[0] + after
    special = [character for character in _SPELLINGS if character in anchor]
    spelled = zip(_spelled(bounded, special), _spelled(anchor, special), strict=True)
    return tuple(Key(word[0], piece_text, text) for piece_text, text in spelled)


def _spelled(text: str, special: Iterable[str]) -> list[str]:
    """Every spelling; for a part and its whole in the same order."""
    spellings = [text]
    for character in special:
        spellings = [s.replace(character, way) for s in spellings for way in _SPELLINGS[character]]
    return spellings


def _words(text: str) -> list[str]:
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return plain.translate(_TO_WORDS).split()
