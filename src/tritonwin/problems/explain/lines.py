"""Lines of a log as the program printed them: undecorated, and joined where they were wrapped.

Terminals, tools and pages add escapes, prefixes and entities. A console, PowerShell or a mail
breaks a line where the next word would not have fitted. Whether a blank was lost there cannot be
seen at a line that is exactly full, so both readings are made.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tritonwin.system.toml import read_resource

# CSI, OSC (ended by BEL or ST), other two-character escapes. Bounded: a log may hold half a one.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)?"
    r"|[PX^_][^\x1b\n]{0,512}(?:\x1b\\)?|[ -/]{0,4}[0-~])|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});")
_BACKSLASHES = re.compile(r"\\{2,}")
_EXTENDED = re.compile(r"\\\?\\(?=[A-Za-z]:)|//\?/(?=[A-Za-z]:)")  # how long paths begin
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u300c\u300d\u300e\u300f", '"'),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
    "\uff1a": ":",
    "\uff08": "(",
    "\uff09": ")",
}


@dataclass(frozen=True, kw_only=True)
class ReadingTable:
    """The content of `reading.toml`."""

    prefixes: tuple[str, ...]
    glue: tuple[str, ...]
    parts: tuple[str, ...]
    packages: tuple[str, ...]


READING = read_resource(__package__, "reading.toml", ReadingTable)
_PREFIX = re.compile(rf"\s{{0,40}}(?:{'|'.join(READING.prefixes)}) ?")
_MAX_PREFIXES = 4
# The box that rich draws around a traceback; its own lines are as wide as those that it frames.
_BOX_END = re.compile(r"\s[\u2502\u2503]$")
_BOX_LINE = "\u2500\u2501\u256d\u256e\u256f\u2570\u250c\u2510\u2514\u2518"
# ComfyUI's report puts the time before and behind each piece that was written, not each line.
_WRITTEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} -(?: |$)")

NARROW, WIDE = 40, 200  # columns between which a log counts as wrapped
MAX_JOINED = 16_000  # characters

# what would have been moved up: a word, or its part up to a hyphen between letters
_FIRST_WORD = re.compile(r"\S{0,200}?[^\W\d_]{2}-(?=[^\W\d_]-?[^\W\d_])|\S{0,200}")


def segments(line: str) -> list[str]:
    """The texts that a line showed in turn: a progress bar overwrites itself by CR."""
    return [part for part in line.split("\r") if part] if "\r" in line else [line]


def without_escapes(text: str) -> str:
    """The text without terminal escapes."""
    return _ESCAPE.sub("", text) if "\x1b" in text or "\x9b" in text else text


def plain_characters(text: str) -> str:
    """The text with quotes, blanks and brackets of ASCII; every character stays in its place."""
    if not text.isascii():
        for character, plain_one in _PLAIN.items():
            if character in text:  # faster than a table where there is none
                text = text.replace(character, plain_one)
    return text


def clean(line: str) -> str:
    """The line without escapes, control characters and prefixes; its indentation is kept."""
    line = without_escapes(line)
    if not line.isprintable():
        line = _CONTROL.sub("", line)
    if " -" in line:
        line = _WRITTEN.sub("", line)
    if not line.isascii():
        line = _BOX_END.sub("", line.rstrip()).strip(_BOX_LINE)
    for _ in range(_MAX_PREFIXES):
        found = _PREFIX.match(line)
        if found is None or not found[0].strip():
            break
        line = line[found.end() :]
    return line.rstrip()


def plain(text: str) -> str:
    """A cleaned line with plain quotes, single backslashes and short paths, without entities."""
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    text = plain_characters(text)
    if "\\\\" in text:
        text = _BACKSLASHES.sub(r"\\", text)
    if "?" in text:
        text = _EXTENDED.sub("", text)
    return text.strip()


def normalise(line: str) -> str:
    """The line that signatures are searched in."""
    return plain(clean(line))


def joined(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The first and the last index of every group of lines that may have been one, and its text.

    There is one for each of its readings. The column at which they were wrapped is that of the
    longest line.
    """
    cleaned = [clean(line) for line in lines]
    width = max(map(len, cleaned), default=0)
    start = 0
    while NARROW <= width <= WIDE and start < len(cleaned):
        end = start + 1
        while end < len(cleaned) and _continues(cleaned[end - 1], cleaned[end], width):
            end += 1
        if end - start > 1:
            group = cleaned[start:end]
            for text in _readings(group, width):
                yield start, end - 1, text[:MAX_JOINED]
        start = end


def _continues(line: str, following: str, width: int) -> bool:
    if len(line) < NARROW // 2 or not following.strip():
        return False
    word = _FIRST_WORD.match(following.lstrip())
    return len(line) + 1 + len(word[0] if word else "") > width


def _readings(group: Sequence[str], width: int) -> tuple[str, ...]:
    tight = loose = group[0]
    for previous, line in pairwise(group):
        full = len(previous) == width
        tight += ("" if full or previous.endswith("-") else " ") + line.lstrip()
        loose += ("" if previous.endswith("-") else " ") + line.lstrip()
    return (tight,) if tight == loose else (tight, loose)
