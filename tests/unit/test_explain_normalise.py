"""A line as the program printed it, whatever was put around it."""

from __future__ import annotations

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.output.text import printable
from tritonwin.problems.explain.lines import clean, normalise, segments

LINE = "RuntimeError: Failed to find C compiler."


@pytest.mark.parametrize("line", cases("lines.toml", "taken_away"))
def test_what_was_added_is_taken_away(line: str) -> None:
    assert normalise(line.replace("{}", LINE)) == LINE


@pytest.mark.parametrize(("line", "expected"), cases("lines.toml", "made_plain"))
def test_characters_are_made_plain(line: str, expected: str) -> None:
    assert normalise(line) == expected


@pytest.mark.parametrize("line", cases("lines.toml", "stays"))
def test_what_belongs_to_the_line_stays(line: str) -> None:
    assert normalise(line) == line


def test_cleaning_keeps_the_indentation_after_a_prefix() -> None:
    assert clean('2026-11-03T08:15:42Z   File "a.py", line 1') == '  File "a.py", line 1'


def test_progress_bars_are_cut_at_their_returns() -> None:
    assert segments(" 1%|#\r 2%|##\rerror: x\r") == [" 1%|#", " 2%|##", "error: x"]
    assert segments("plain") == ["plain"]


@given(st.text())
def test_a_clean_line_can_be_printed(text: str) -> None:
    cleaned = clean(text.replace("\n", " "))
    assert "\x1b" not in cleaned
    assert printable(cleaned).isprintable() or not cleaned.isprintable()
    assert normalise(normalise(text)) is not None
