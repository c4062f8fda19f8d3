"""Suspicious lines of a log with no known problem: first error, last exception."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.problems.explain.lines import clean
from tritonwin.problems.records import Evidence

LOOKED_AT = 2_000  # characters of a line that may speak of an error
TAIL = 20_000  # characters after the last traceback's head in which its end is looked for
_HEAD = "Traceback (most recent call last)"
# words that begin or end a token of an error message; a path or an option that holds them does not
_WORDS = (
    "error:",
    "Error:",
    "ERROR",
    "error ",
    "FAILED",
    "fatal",
    "Exception:",
    "Fehler",
    "erreur",
)
_ERROR = re.compile(
    r"(?:^|[\s:(\[])(?:fatal |internal )?(?:error|Error|ERROR|FAILED|fatal|FATAL|Fehler|erreur)"
    r"(?=[\s:\])])|\b\w{1,60}(?:Error|Exception): "
)
_FRAME = re.compile(r'\s{0,8}File "')


class Suspects:
    """Fed with the blocks of a log; remembers two places."""

    def __init__(self) -> None:
        self._first: tuple[int, str] | None = None
        self._tail = ""
        self._tail_line = 0

    def feed(self, block: str, line: int) -> None:
        """Look at a block whose first line bears that number."""
        if self._first is None:
            self._first = _first_error(block, line)
        start = block.rfind(_HEAD)
        if start >= 0:
            self._tail = block[start : start + TAIL]
            self._tail_line = line + block.count("\n", 0, start)
        elif self._tail and len(self._tail) < TAIL:
            self._tail += block[: TAIL - len(self._tail)]

    @property
    def stopped(self) -> int:
        """The line where the last traceback begins; 0 without one."""
        return self._tail_line

    def found(self) -> Iterator[Evidence]:
        """The first line that speaks of an error; the last traceback's last frame and its error."""
        places = dict([self._first] if self._first else [])
        places |= dict(self._last_traceback())
        for number in sorted(places):
            yield Evidence(text=clean(places[number]).strip()[:500], where=f"line {number}")

    def _last_traceback(self) -> Iterator[tuple[int, str]]:
        frame: tuple[int, str] | None = None
        for number, line in enumerate(self._tail.split("\n")[1:], self._tail_line + 1):
            text = clean(line)
            if _FRAME.match(text):
                frame = (number, line)
            elif frame and text and not text.startswith(" "):
                yield from (frame, (number, line))
                return


def _first_error(block: str, line: int) -> tuple[int, str] | None:
    positions = []
    for word in _WORDS:
        start = 0
        while (at := block.find(word, start)) >= 0:
            begin = block.rfind("\n", 0, at) + 1
            end = block.find("\n", at)
            start = end if end >= 0 else len(block)  # a line is looked at once
            text = block[begin:start]
            if _ERROR.search(text[:LOOKED_AT]):
                positions.append((begin, text))
                break
    if not positions:
        return None
    begin, text = min(positions)
    return line + block.count("\n", 0, begin), text
