"""Waiting for other processes and threads, whatever the machine's pace."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 120.0  # seconds for what an idle machine does in less than one
_PAUSE = 0.02
_LIMITS = (2, 15, int(PATIENCE))  # seconds


def wait_for(condition: Callable[[], T]) -> T:
    """The condition's value once it is true; fails when that takes longer than PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(_PAUSE)
    return found


def given_time(attempt: Callable[[int], T], came_to_it: Callable[[T], bool]) -> T:
    """The output of a program that never ends by itself, when a time limit in seconds ends it.

    The shortest limit in which it came to what the test is about; a busy machine may need a longer
    one.
    """
    return next(
        result
        for seconds in _LIMITS
        if came_to_it(result := attempt(seconds)) or seconds == PATIENCE
    )


def gone(number: int) -> bool:
    """True if a process of this Linux has ended; one that nobody has waited for yet counts."""
    try:
        state = Path(f"/proc/{number}/stat").read_text("latin-1").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in {"Z", "X"}
