"""Suspicious lines of a log with no known problem: first error, last exception."""

from __future__ import annotations

import re

from tritonwin.problems.explain.lines import clean
from tritonwin.problems.explain.log_facts import Match
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
    """Fed with the blocks of a log; remembers two places.

    Attributes:
        stopped: the line where the last traceback begins; 0 without one.
    """

    def __init__(self) -> None:
        self.stopped = 0
        self._first: Match | None = None
        self._tail = ""

    def feed(self, block: str, line: int) -> None:
        """Look at a block whose first line bears that number."""
        if self._first is None and any(word in block for word in _WORDS):
            errors = (
                Match(number, text, {})
                for number, text in enumerate(block.split("\n"), line)
                if any(word in text for word in _WORDS) and _ERROR.search(text[:LOOKED_AT])
            )
            self._first = next(errors, None)
        start = block.rfind(_HEAD)
        if start >= 0:
            self._tail = block[start : start + TAIL]
            self.stopped = line + block.count("\n", 0, start)
        elif self._tail and len(self._tail) < TAIL:
            self._tail += block[: TAIL - len(self._tail)]

    def found(self) -> list[Evidence]:
        """The first line that speaks of an error; the last traceback's last frame and its error."""
        places = [self._first, *self._last_traceback()]
        lines = {place.line: place.evidence for place in places if place}
        return [lines[number] for number in sorted(lines)]

    def _last_traceback(self) -> tuple[Match, ...]:
        frame: Match | None = None
        for number, line in enumerate(self._tail.split("\n")[1:], self.stopped + 1):
            text = clean(line)
            if _FRAME.match(text):
                frame = Match(number, line, {})
            elif frame and text and not text.startswith(" "):
                return (frame, Match(number, line, {}))
        return ()
