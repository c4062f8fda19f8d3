"""How an anchor is searched for: by its rarest word, then the piece with it, then all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

BOUNDARY = "\n"  # a token's end in a piece; no token holds one
MIN_WORD = 3  # letters

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


class Key(NamedTuple):
    """What is looked for, from the fastest test to the surest.

    Attributes:
        word: how a word of the log begins; where a piece has no word ("C/C++"), the piece itself.
        piece: stands in a token, which is what lies between blanks. Where a blank stands beside it
            in the text, so does BOUNDARY: the piece of "torch " is not in "torchvision".
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
    before = BOUNDARY if anchor[: piece.start()][-1:].isspace() else ""
    after = BOUNDARY if anchor[piece.end() :][:1].isspace() else ""
    bounded = before + piece[0] + after
    special = [character for character in _SPELLINGS if character in anchor]
    return tuple(
        Key(word[0], spelled_piece, text)
        for spelled_piece, text in zip(
            _spelled(bounded, special), _spelled(anchor, special), strict=True
        )
    )


def _spelled(text: str, special: Iterable[str]) -> list[str]:
    """Every spelling; for a part and its whole in the same order."""
    spellings = [text]
    for character in special:
        spellings = [s.replace(character, way) for s in spellings for way in _SPELLINGS[character]]
    return spellings
