"""Logs that were wrapped at a column, by a console, PowerShell or a mail: lines put together again.

A line was broken where the next word would not have fitted. Whether a blank was lost there cannot
be seen at a line that is exactly full, so both readings are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tritonwin.problems.explain.normalise import clean

NARROW, WIDE = 40, 200  # columns between which a log counts as wrapped
MAX_JOINED = 16_000  # characters

# what would have been moved up: a word, or its part up to a hyphen between letters
_FIRST_WORD = re.compile(r"[^\s\w]{0,20}\w{1,80}[^\W\d_]-(?=\w{1,40}[^\W\d_])|\S{0,200}")


def width_of(lines: Sequence[str]) -> int | None:
    """The column at which the log was wrapped; None where it was not."""
    lengths = [len(clean(line)) for line in lines]
    widest = max(lengths, default=0)
    return widest if NARROW <= widest <= WIDE else None


class Joined(NamedTuple):
    """A text that may have been one line: the indexes of its first and last line."""

    first: int
    last: int
    text: str


def joined(lines: Sequence[str], width: int) -> Iterator[Joined]:
    """Every group of lines that may have been one, in each of its readings."""
    cleaned = [clean(line) for line in lines]
    start = 0
    while start < len(cleaned):
        end = start + 1
        while end < len(cleaned) and _continues(cleaned[end - 1], cleaned[end], width):
            end += 1
        if end - start > 1:
            group = cleaned[start:end]
            for text in _readings(group, width):
                yield Joined(start, end - 1, text[:MAX_JOINED])
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
