"""Logs that nobody wrote: no crash, no hang, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from regex_lint import samples

from tritonwin.output import documents
from tritonwin.output.terminal import print_view
from tritonwin.output.text import printable
from tritonwin.output.view import of_explanation
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.explain import explain_stream
from tritonwin.problems.explain.matches import PIECE, Query, compiled
from tritonwin.problems.records import Explanation
from tritonwin.system.codec import to_json

PATTERNS = Query(catalogue.load()).patterns
MEGABYTES = 1 << 20

# what turns up in logs, and what hurts
FRAGMENTS = st.sampled_from(
    [
        b"Traceback (most recent call last):\n",
        b"LINK : fatal error LNK1181: cannot open input file 'C:\\Program.obj'\n",
        b"RuntimeError: Failed to find C compiler.\n",
        b"\x1b]0;title\x07",
        b"\x1b[2J\x1b[1;1H",
        b"\x1b[31",
        b"\x9b2J",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\0",
        b"\r",
        b"\n",
        b"\xe2\x80",
        b"&#x1b;[2J",
        "‮gnp.exe\n".encode(),
        "зависает\n".encode("cp866"),
        "错误\n".encode("gbk"),
        "error C1083\r\n".encode("utf-16-le"),
    ]
)


def explained(data: bytes) -> Explanation:
    return explain_stream(io.BytesIO(data))


@given(st.lists(FRAGMENTS | st.binary(max_size=40), max_size=25).map(b"".join))
@settings(max_examples=150)
def test_output_is_always_safe_to_print(data: bytes) -> None:
    explanation = explained(data)
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", printed)
        print_view(of_explanation(explanation, "standard input"))
    assert all(printable(line) == line for line in printed.getvalue().split("\n"))
    report = documents.explain_report(explanation, None, None)
    assert "\\u001b" not in json.dumps(to_json(report))


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * (10 * MEGABYTES),
        b"a" * (10 * MEGABYTES),
        b"'" * (10 * MEGABYTES),
        b"\n" * (4 * MEGABYTES),
        b"\x1b]0;" * MEGABYTES,
        b"\x1b[31" * MEGABYTES,
        b"&#" * (2 * MEGABYTES),
        b"50%|###   |\r" * 200_000,
        random.Random(1).randbytes(2 * MEGABYTES),
        "зависает ".encode("cp866") * 200_000,
        b"\xff\xfe" + b"\xd8" * (2 * MEGABYTES),
    ],
    ids=lambda data: repr(data[:8]),
)
def test_large_nonsense_is_read_in_seconds(data: bytes) -> None:
    started = time.process_time()
    assert explained(data).problems == ()
    assert time.process_time() - started < 20


def test_a_problem_within_a_line_of_ten_megabytes_is_found() -> None:
    filler = b"x%d " % 7 * (2 * MEGABYTES)
    planted = b" error C2872: 'std': ambiguous symbol, see compiled_autograd.h "
    found = explained(filler[: 5 * MEGABYTES] + planted + filler).problems
    assert [p.id for p in found] == ["msvc-std-ambiguous"]


@pytest.mark.parametrize("pattern", [p for p in PATTERNS if p.line], ids=lambda p: p.anchors[0])
def test_patterns_take_linear_time(pattern: LinePattern) -> None:
    """No line makes a pattern slow: what it nearly matches, over and over, to a line's full length.

    A pattern that backtracks in more than linear time takes minutes on one of these.
    """
    assert pattern.line is not None
    regex = compiled(pattern.line)
    for unit in samples(regex.pattern, pattern.anchors):
        text = (unit * (PIECE // len(unit) + 1))[:PIECE]
        started = time.process_time()
        regex.search(text)
        assert time.process_time() - started < 3, unit[:80]


def test_what_is_looked_for_has_one_order() -> None:
    """Whatever the seed of hashes: what depends on order would be seen on some days alone."""
    program = (
        "from tritonwin.problems import catalogue\n"
        "from tritonwin.problems.explain.matches import Query\n"
        "print(Query(catalogue.load()).patterns)"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in "12345"
    }
    assert len(orders) == 1
