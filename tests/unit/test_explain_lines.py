"""Lines as the program printed them: what was put around them, and where they were broken."""

from __future__ import annotations

import textwrap

import pytest
from cases import cases
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.output.text import printable
from tritonwin.problems.explain.lines import clean, joined, normalise, segments

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


TEXT = (
    "subprocess.CalledProcessError: Command '['C:\\Program Files\\tcc\\tcc.exe', '-O3', '-shared', "
    "'-LC:\\python\\libs', 'C:\\Temp\\main.c']' returned non-zero exit status 1."
)


def readings(lines: list[str]) -> list[str]:
    return [text for _, _, text in joined(lines)]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_cut_at_a_column(width: int) -> None:
    assert TEXT in readings([TEXT[i : i + width] for i in range(0, len(TEXT), width)])


@pytest.mark.parametrize("width", [60, 80, 100])
def test_wrapped_at_words(width: int) -> None:
    filler = "a line of text that is as wide as this log's lines ever get".ljust(width, ".")
    assert TEXT in readings([filler, "", *textwrap.wrap(TEXT, width)])


def test_separate_lines_stay_separate() -> None:
    lines = ["x" * 80, "", "error: one", "error: two", "a" * 40]
    assert readings(lines) == []


@pytest.mark.parametrize(("word", "joins"), [("x" * 9, 0), ("x" * 10, 1)])
def test_a_word_that_had_room_on_the_line_before_began_its_own(word: str, joins: int) -> None:
    lines = [
        "-" * 80,
        "",
        "a line of text that ends at column fifty, or one more".ljust(70, "."),
        word,
    ]
    assert len(readings(lines)) == joins


@pytest.mark.parametrize("widest", [39, 201])
def test_a_log_that_was_not_wrapped(widest: int) -> None:
    assert readings(["short", "x" * widest, "y" * widest]) == []


@given(st.lists(st.text(alphabet="ab -", max_size=60), max_size=12))
def test_nothing_is_invented(lines: list[str]) -> None:
    for first, last, text in joined(lines):
        assert first < last
        assert text.startswith(lines[first].rstrip())
        letters = "".join(lines[first : last + 1]).replace(" ", "")
        assert text.replace(" ", "") == letters
