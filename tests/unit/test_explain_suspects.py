"""The lines to look at in a log of which nothing is known, however it is cut into blocks."""

from __future__ import annotations

import pytest

from tritonwin.problems.explain.suspects import TAIL, Suspects

LOG = (
    "starting\n"
    "ERROR: the model is not there\n"
    "Traceback (most recent call last):\n"
    '  File "old.py", line 1, in f\n'
    "OldError: solved\n"
    "Traceback (most recent call last):\n"
    '  File "a.py", line 3, in <module>\n'
    "    run()\n"
    '  File "b.py", line 9, in run\n'
    "    raise StrangeError\n"
    "StrangeError: nobody knows\n"
    "bye\n"
)
PLACES = [
    ("line 2", "ERROR: the model is not there"),
    ("line 9", 'File "b.py", line 9, in run'),
    ("line 11", "StrangeError: nobody knows"),
]


def suspects(*blocks: str) -> list[tuple[str, str]]:
    found, line = Suspects(), 1
    for block in blocks:
        found.feed(block, line)
        line += block.count("\n")
    return [(e.where, e.text) for e in found.found()]


@pytest.mark.parametrize("lines", [1, 2, 3, 5, 12])
def test_the_first_error_and_the_last_exception(lines: int) -> None:
    each = LOG.splitlines(keepends=True)
    assert suspects(*("".join(each[i : i + lines]) for i in range(0, 12, lines))) == PLACES


def test_of_a_traceback_without_end_the_beginning_is_kept() -> None:
    head, frame = "Traceback (most recent call last):\n", '  File "a.py", line 1, in f\n'
    frames = frame * (TAIL // len(frame) + 2)
    assert suspects(head, frames, "LateError: too far away\n") == [
        (f"line {frames.count(chr(10)) + 2}", "LateError: too far away")
    ]


@pytest.mark.parametrize("lines", [1, 4])
def test_a_frame_without_a_head_is_no_exception(lines: int) -> None:
    """Python shows a warning so, or a syntax error that was caught."""
    log = ['  File "a.py", line 1\n', "    a b\n", "SomeWarning\n", "bye\n"]
    assert suspects(*("".join(log[i : i + lines]) for i in range(0, 4, lines))) == []


def test_a_log_without_errors() -> None:
    assert suspects("all is well\n", "0 errors\n") == []


def test_a_long_line_is_cut() -> None:
    ((_, text),) = suspects("error: " + "x" * 1000 + "\n")
    assert len(text) < 510
