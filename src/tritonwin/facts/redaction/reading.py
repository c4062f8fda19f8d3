r"""The readings of a line: without colours, decoded, unescaped, with the way back.

A line of a log can be taken in several ways. `C:\new` is a path, or "C:" and a line end; `%20` is a
blank, or part of a password. So nothing is guessed: a secret or a name is sought in every reading,
and what is found is replaced in the original, where an escape is always taken whole.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_LEVELS = 3  # JSON in JSON in JSON
_ESC = r"(?:\x1b|\\{1,8}(?:x1b|u001b|033|e)|\^\[)"
_COLOURS = re.compile(
    rf"(?:{_ESC}\[[0-9;:?]{{0,40}}[A-Za-z]|{_ESC}\]8;[^;\x07\x1b\\]{{0,200}};"
    rf"|(?<=[^\\])\x1b\\|\x1b(?:[()][A-Z0-9]|[=>78cDEHM])|\x07|\x9b[0-9;]{{0,40}}[A-Za-z]|\[\d{{1,2}}(?:;\d{{1,3}}){{0,4}}m)"
    r"|[\u200b-\u200f\u2060\ufeff\xad]",
    re.IGNORECASE,
)
_COLOURED = re.compile(r"[\x1b\x07]|\[(?:[0-9;:?]+[A-Za-z]|[mKHJ])")
_P = r"%(?:25){0,4}"
_CONT = rf"{_P}[89AB][0-9A-F]"
_ENCODED = re.compile(
    rf"{_P}(?:[0-7][0-9A-F]|[CD][0-9A-F]{_CONT}|E[0-9A-F](?:{_CONT}){{2}}|F[0-7](?:{_CONT}){{3}})"
    r"|&(?:amp;){0,3}(?:amp|lt|gt|quot|apos|nbsp|commat|sol|bsol|colon|equals|num|period|lowbar"
    r"|#\d{1,6}|#x[0-9A-F]{1,5});",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\(?:[\"'\\/nrtbfav]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U000[0-9a-fA-F]{5})")
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


@dataclass(frozen=True)
class Reading:
    """A text, and for each of its characters the part of the original that it was.

    Where nothing was changed, `start` and `end` are ranges.
    """

    text: str
    start: Sequence[int]
    end: Sequence[int]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the original that `[start, end)` of this text was, escapes whole."""
        return self.start[start], self.end[end - 1]

    def changed(self, pattern: re.Pattern[str], decode: Callable[[str], str]) -> Reading:
        """The reading in which each match is decoded; this one if there is no match."""
        pieces: list[str] = []
        start: list[int] = []
        end: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            new, (first, last) = decode(match[0]), match.span()
            pieces += (self.text[done:first], new)
            start += (*self.start[done:first], *[self.start[first]] * len(new))
            end += (*self.end[done:first], *[self.end[last - 1]] * len(new))
            done = last
        if not pieces:
            return self
        text = "".join((*pieces, self.text[done:]))
        return Reading(text, [*start, *self.start[done:]], [*end, *self.end[done:]])


def readings(line: str) -> Iterator[Reading]:
    """The line without colours; percent signs and entities decoded; unescaped up to three times."""
    reading = Reading(line, range(len(line)), range(1, len(line) + 1))
    if not line.isascii() or _COLOURED.search(line):
        reading = reading.changed(_COLOURS, lambda _: "")
    yield reading
    if "%" in reading.text or "&" in reading.text:
        decoded = reading.changed(_ENCODED, _decoded)
        if decoded is not reading:
            yield decoded
        reading = decoded
    for _ in range(_LEVELS):
        if "\\" not in reading.text:
            return
        unescaped = reading.changed(_ESCAPED, _unescaped)
        if unescaped is reading:
            return
        reading = (
            unescaped.changed(_COLOURS, lambda _: "") if "\x1b" in unescaped.text else unescaped
        )
        yield reading


def _decoded(unit: str) -> str:
    if unit.startswith("&"):
        return html.unescape(re.sub(r"&(?:amp;)+", "&", unit) if unit != "&amp;" else unit)
    pairs = re.sub(r"%(?:25)*(?=[0-9A-Fa-f]{2})", "", unit)
    return bytes.fromhex(pairs).decode("utf-8", "replace")[:1] if pairs else "%"


def _unescaped(unit: str) -> str:
    kind = unit[1]
    if kind in "uUx":
        return chr(int(unit[2:], 16) % 0x110000)  # noqa: FURB166 - u and U are no prefixes
    return _LETTERS.get(kind, kind)
