"""What the fast search looks for in place of an anchor: its rarest piece, by its rarest word."""

from __future__ import annotations

import re
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
# between blanks; up to a quote, which is worth having: it tells a word from the part of a path
_PIECE = re.compile(r"""[^\s'"&<>]+['"]?""")
# How characters that normalising changes stand in a log as it is: in a page, in a literal, doubled.
_SPELLINGS = {
    "'": ("'", "\u2019", "\u2018", "&#39;", "&#x27;", "\\'"),
    '"': ('"', "\u201d", "\u201c", "&quot;", '\\"'),
    "\\": ("\\", "\\\\", "\\\\\\\\"),
}


class Key(NamedTuple):
    """A word, and the pieces of text one of which stands in the same token.

    Where a piece has no word worth the name ("C/C++"), the piece itself takes its place.
    """

    word: str
    pieces: tuple[str, ...]


def key(anchor: str) -> Key:
    """The key of an anchor; its word is empty where there is none to search for.

    A piece holds no blank. Where a blank stands beside it, so does the mark of a token's end: the
    piece of "torch " is "torch\\n", which is not in "torchvision". The word begins where a word of
    the log begins, but need not end there.
    """
    pieces = list(_PIECE.finditer(anchor))
    words = [w for w in _WORD.finditer(anchor) if len(w[0]) >= MIN_WORD]
    if words:
        word = max(words, key=lambda w: (w[0].lower() not in _COMMON, len(w[0])))
        piece = next(p for p in pieces if p.start() <= word.start() < p.end())
    elif pieces:
        word = piece = max(pieces, key=lambda p: len(p[0]))
    else:
        return Key("", ())
    before = BOUNDARY if anchor[: piece.start()][-1:].isspace() else ""
    after = BOUNDARY if anchor[piece.end() :][:1].isspace() else ""
    spellings = {piece[0]}
    for character, ways in _SPELLINGS.items():
        if character in piece[0]:
            spellings = {text.replace(character, way) for text in spellings for way in ways}
    return Key(word[0], tuple(before + text + after for text in sorted(spellings)))
