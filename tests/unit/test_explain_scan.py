"""The fast search finds what looking at every line for every pattern would find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.problems.catalogue.anchors import BOUNDARY, Key, keys
from tritonwin.problems.explain import scan
from tritonwin.problems.explain.normalise import normalise
from tritonwin.problems.explain.scan import NEAR, Recent, Scanner, match, pieces
from tritonwin.problems.model import LinePattern

PATTERNS = (
    LinePattern(anchors=("LNK1181",), line=r"LNK1181.{0,80}'(?P<path>[^']{1,99})'"),
    LinePattern(anchors=("triton\\backends", "triton/backends")),
    LinePattern(anchors=("torch ",), line=r"\btorch (?P<torch_version>\d\S{0,20})"),
    LinePattern(anchors=("'cl' is not",)),
    LinePattern(anchors=("C/C++",)),
    LinePattern(anchors=("应用程序",)),
    LinePattern(anchors=("Failed to find",), line=r"Failed to find (?:C compiler|MSVC)"),
)


class Everything:
    """A sink that never has enough."""

    def __init__(self, wanted: Iterable[int] = range(len(PATTERNS))) -> None:
        self.wanted = set(wanted)
        self.patience: dict[int, int] = {}
        self.found: list[tuple[int, int]] = []
        self.groups: list[dict[str, str]] = []
        self.recent: list[str] = []

    def take(
        self, index: int, line: int, text: str, groups: dict[str, str], recent: Recent
    ) -> None:
        self.found.append((line, index))
        self.groups.append(groups)
        self.recent.append(recent())


def scanned(blocks: Sequence[str]) -> list[tuple[int, int]]:
    sink = Everything()
    scanner = Scanner(PATTERNS, sink)
    first = 1
    for block in blocks:
        scanner.feed(block, first)
        first += block.count("\n")
    return sink.found


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


@pytest.mark.parametrize("few", [0, 1000])
def test_both_ways_to_lines_are_the_same(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "FEW", few)
    text = "\n".join(LINES * 5)
    assert scanned([text]) == naive(text)
    assert len(naive(text)) >= 5 * 9


def test_forgetting_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "MEMORY", 500)
    text = "\n".join(LINES * 40)
    assert scanned(text.splitlines(keepends=True)) == naive(text)


def test_groups_are_handed_over() -> None:
    sink = Everything()
    Scanner(PATTERNS, sink).feed(LINES[0], 1)
    assert sink.groups == [{"path": "cuda.lib"}]


def test_what_stands_before_a_line_is_handed_over_across_blocks() -> None:
    sink = Everything()
    scanner = Scanner(PATTERNS, sink)
    for number in range(3):
        scanner.feed(f"block {number}\n" + "x" * (NEAR // 2) + "\n", 2 * number + 1)
    scanner.feed(f"just before\n{LINES[0]}\nafter\n", 7)
    (recent,) = sink.recent
    assert len(recent) == NEAR
    assert recent.endswith("x\njust before\n")
    assert "block 2" in recent
    assert "block 1" not in recent


def test_a_pattern_is_searched_for_from_the_line_on_which_it_is_wanted() -> None:
    class Later(Everything):
        def take(
            self, index: int, line: int, text: str, groups: dict[str, str], recent: Recent
        ) -> None:
            super().take(index, line, text, groups, recent)
            self.wanted = {0, 6} if index == 0 else self.wanted - {6}

    sink = Later({0})
    block = "Failed to find MSVC\n" + LINES[0] + "\nx\n" + "Failed to find MSVC\n" * 3
    Scanner(PATTERNS, sink).feed(block, 1)
    assert sink.found == [(2, 0), (4, 6)]


def test_patience_ends() -> None:
    sink = Everything()
    sink.patience[1] = 2
    Scanner(PATTERNS, sink).feed("triton/backends\n" * 9, 1)
    assert sink.found == [(1, 1), (2, 1)]


def test_the_segments_of_a_progress_bar_are_lines() -> None:
    assert scanned([" 3%|#  \rLNK1181 'a'\r 5%|## torch 2.5"]) == [(1, 0), (1, 2)]


def test_long_lines_are_searched_in_pieces() -> None:
    padding = "x " * 30_000
    assert scanned([padding + LINES[0] + padding]) == [(1, 0)]
    assert "".join(pieces("ab")) == "ab"
    cut = list(pieces("x" * (2 * scan.PIECE)))
    assert max(map(len, cut)) == scan.PIECE


@pytest.mark.parametrize(
    ("anchor", "word", "piece"),
    [
        ("LNK1181", "LNK1181", "LNK1181"),
        ("fatal error C1083", "C1083", f"{BOUNDARY}C1083"),
        ("torch ", "torch", f"torch{BOUNDARY}"),
        ("Python.h not found", "Python", f"Python.h{BOUNDARY}"),
        ("of '_C' import", "import", f"{BOUNDARY}import"),
        ("(R) C/C++", "C/C++", f"{BOUNDARY}C/C++"),
    ],
)
def test_keys(anchor: str, word: str, piece: str) -> None:
    assert Key(word, piece, anchor) in keys(anchor)


def test_keys_know_how_quotes_and_backslashes_are_spelled() -> None:
    texts = {key.text for key in keys("triton\\backends")}
    assert texts == {"triton\\backends", "triton\\\\backends", "triton\\\\\\\\backends"}
    assert {"Program' not", "Program&#39; not"} <= {key.text for key in keys("Program' not")}
    assert all(key.piece.strip(BOUNDARY) in key.text for key in keys("a 'b\\c' < &d"))


def test_no_key() -> None:
    assert keys(" ") == ()
