"""The fast search finds what looking at every line for every pattern would find."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.explain import explain_lines, matches
from tritonwin.problems.explain.lines import normalise, segments
from tritonwin.problems.explain.matches import PIECE, match, pieces
from tritonwin.problems.explain.scan import NEAR, Scanner, spellings

PATTERNS = (
    LinePattern(anchors=("LNK1181",), line=r"LNK1181.{0,80}'(?P<path>[^']{1,99})'"),
    LinePattern(anchors=("triton\\backends", "triton/backends")),
    LinePattern(anchors=("torch ",), line=r"\btorch (?P<torch_version>\d\S{0,20})"),
    LinePattern(anchors=("'cl' is not",)),
    LinePattern(anchors=("C/C++",)),
    LinePattern(anchors=("应用程序",)),
    LinePattern(anchors=("Failed to find",), line=r"Failed to find (?:C compiler|MSVC)"),
)


def scanned(blocks: Sequence[str]) -> list[tuple[int, int]]:
    """Lines and patterns that match, by the fast search."""
    scanner = Scanner(PATTERNS)
    found, first = [], 1
    for block in blocks:
        for line in scanner.candidates(f"before\n{block}", first, start=len("before\n")):
            texts = [normalise(p) for part in segments(line.text) for p in pieces(part)]
            found += [
                (line.number, index)
                for text in texts
                for index in sorted(line.patterns)
                if match(PATTERNS[index], text) is not None
            ]
        first += block.count("\n")
    return found


def naive(text: str) -> list[tuple[int, int]]:
    return [
        (number, index)
        for number, line in enumerate(text.split("\n"), 1)
        for index, pattern in enumerate(PATTERNS)
        if match(pattern, normalise(line)) is not None
    ]


LINES = [
    "LINK : fatal error LNK1181: cannot open input file 'cuda.lib'",
    "LNK1181 without a name",
    r'  File "C:\\app\\Lib\\site-packages\\triton\\backends\\nvidia\\driver.py", line 1',
    r"File C:\app\triton\backends\x.py and torch 2.5.1+cu124 of 'cuda.lib'",
    "torch                2.5.1",
    "torchvision 0.20.1 torch_x 1",
    "\x1b[31m'cl' is not recognized\x1b[0m",
    "‘cl’ is not recognized &#39;cl&#39; is not",
    "Microsoft (R) C/C++ Optimizing Compiler for x86",
    "无法：应用程序控制策略已阻止此文件",
    "Failed to find MSVC. Failed to find nothing",
    r"b'\r\nLNK1181: x \'a.lib\''",
    "[1/2] cl.exe /c a.cpp",
    "",
    "   ",
]
texts = st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=30).map("\n".join)


@given(texts, st.lists(st.integers(0, 600), max_size=4))
def test_the_same_as_line_by_line(text: str, cuts: list[int]) -> None:
    text = text.replace("\r", " ")
    ends = sorted({text.find("\n", cut) + 1 for cut in cuts} | {len(text)})
    blocks = [text[a:b] for a, b in zip([0, *ends], ends, strict=False) if a < b]
    assert scanned(blocks) == naive(text)


def test_the_text_before_a_line_is_known() -> None:
    block = "x\n" * NEAR + f"just before\n{LINES[0]}\nafter\n"
    (line,) = Scanner(PATTERNS).candidates(block, 7)
    assert len(line.before) == NEAR
    assert line.before.endswith("x\njust before\n")


def test_what_is_not_looked_for_is_not_found() -> None:
    block = "Failed to find MSVC\n" + LINES[0] + "\nFailed to find MSVC\n"
    found = Scanner(PATTERNS).candidates(block, 1, without={6})
    assert [(line.number, *line.patterns) for line in found] == [(2, 0)]


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matches, "PATIENCE", 2)
    found = explain_lines([f"Driver Version: 581.5{n}" for n in range(9)]).facts.nvidia_driver
    assert found.version == "581.51"


def test_the_segments_of_a_progress_bar_are_lines() -> None:
    assert scanned([" 3%|#  \rLNK1181 'a'\r 5%|## torch 2.5"]) == [(1, 0), (1, 2)]


def test_long_lines_are_searched_in_pieces() -> None:
    padding = "x " * 30_000
    assert scanned([padding + LINES[0] + padding]) == [(1, 0)]
    assert "".join(pieces("ab")) == "ab"
    cut = list(pieces("x" * (2 * PIECE)))
    assert max(map(len, cut)) == PIECE


def test_quotes_and_backslashes_are_spelled_in_several_ways() -> None:
    texts = set(spellings("triton\\backends"))
    assert texts == {"triton\\backends", "triton\\\\backends", "triton\\\\\\\\backends"}
    assert {"Program' not", "Program&#39; not"} <= set(spellings("Program' not"))
