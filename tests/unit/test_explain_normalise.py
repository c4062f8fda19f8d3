"""A line as the program printed it, whatever was put around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.output.text import printable
from tritonwin.problems.explain.lines import clean, normalise, segments

LINE = "RuntimeError: Failed to find C compiler."


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        f"  {LINE}\t",
        "\x1b[1;31mRuntimeError\x1b[0m: Failed to find C compiler.\x1b[K",
        f"\x1b]0;title\x07{LINE}",
        f"\x1b]8;;file:///C:/a\x1b\\{LINE}\x1b]8;;\x1b\\",
        f"\x9b31m{LINE}",
        f"\ufeff{LINE}",
        f"{LINE}\x08\x00",
        f"2026-11-03T08:15:42.1234567Z {LINE}",
        f"2026-11-03 08:15:42,123 {LINE}",
        f"[2026-11-03 08:15:42] {LINE}",
        f"2026-11-03T08:15:42+01:00 {LINE}",
        f"[08:15:42] {LINE}",
        f"08:15:42.123 {LINE}",
        f"[   12.345678] {LINE}",
        f"Nov  3 08:15:42 pc comfy[123]: {LINE}",
        f"##[error]{LINE}",
        f"2026-11-03T08:15:42.1234567Z ##[error]{LINE}",
        f"comfyui-1  | {LINE}",
        f"> {LINE}",
        f"> > {LINE}",
        f"python.exe : {LINE}",
        f"C:\\app\\python.exe : {LINE}",
        f"+ {LINE}",
        f"│ {LINE}                    │",
        f"╭──────── {LINE} ────────╮",
        f"2026-11-03T08:15:42.123456 - {LINE}2026-11-03T08:15:42.123456 - ",
    ],
)
def test_what_was_added_is_taken_away(line: str) -> None:
    assert normalise(line) == LINE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("can&#39;t open &quot;omp.h&quot; &lt;built-in&gt;", 'can\'t open "omp.h" <built-in>'),
        ("AT&T & more; &unknown; &#xZZ;", "AT&T & more; &unknown; &#xZZ;"),
        ("‘std’: “omp.h” „omp.h‟", '\'std\': "omp.h" "omp.h"'),
        ("error C1083： 无法打开（omp.h）", "error C1083: 无法打开(omp.h)"),
        ("a\u00a0b\u202fc", "a b c"),
        (r"'C:\\Users\\x\\a.c'", r"'C:\Users\x\a.c'"),
        (r"'\\\\?\\C:\\x'", r"'C:\x'"),
        ("//?/C:/x/a.c:1: error", "C:/x/a.c:1: error"),
        ("what? //? no", "what? //? no"),
    ],
)
def test_characters_are_made_plain(line: str, expected: str) -> None:
    assert normalise(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "12 errors generated.",
        "-- The C compiler identification is MSVC",
        "[1/20] cl.exe /c a.cpp",
        "1.2.3 is the version",
        "main.c(3): error C2065",
        "=> ERROR [build 3/5]",
        "name: value",
        "2026 was a year",
        "****",
    ],
)
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
