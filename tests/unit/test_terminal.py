"""What people read: safe, and not longer than a person reads."""

from __future__ import annotations

import unicodedata
from dataclasses import replace as changed

import healthy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.output.terminal import counted, print_diagnosis
from tritonwin.output.text import printable
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.checks.check import Check, seen
from tritonwin.problems.doctor import diagnose

# joiners and vowel signs of scripts that need them, and Arabic number signs
NEEDED = {"\u200c", "\u200d", *map(chr, range(0x600, 0x606)), "\u06dd", "\u070f", "\u08e2"}


@given(st.text())
def test_nothing_that_acts_or_hides_is_printed(text: str) -> None:
    shown = printable(text)
    kinds = {unicodedata.category(c) for c in shown if c not in NEEDED and ord(c) < 0x10000}
    assert kinds.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert printable(shown) == shown


@pytest.mark.parametrize(
    "text", ["C:\\Users\\J\u00fcrgen", "\u7528\u6237", "\u0645\u06cc\u200c\u0634", "a b"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert printable(text) == text


def test_long_values_and_many_pieces_of_evidence_are_cut(
    capsys: pytest.CaptureFixture[str],
) -> None:
    many = [seen(f"{n:03} " + "x" * 32_000, "here") for n in range(100)]
    check = Check(id="triton-missing", title="t", run=lambda _: many, windows_only=False)
    print_diagnosis(healthy.HEALTHY, diagnose(healthy.HEALTHY, [check]))
    out = capsys.readouterr().out
    assert len(out) < 40_000
    assert "and 80 more, with --json" in out
    assert "019 xxx" in out


@pytest.mark.parametrize(
    ("python", "hint"),
    [
        (r"C:\Program Files\Python\python.exe", True),
        (r"\\server\my tools\python.exe", True),
        (r"C:\Python\python.exe", False),
        ("/home/me/my tools/bin/python", False),
    ],
)
def test_powershell_is_spoken_of_where_it_is(python: str, hint: bool) -> None:
    facts = changed(healthy.HEALTHY, target=changed(healthy.HEALTHY.target, executable=python))
    missing = seen("none", "here")
    check = Check(id="triton-missing", title="t", run=lambda _: [missing], windows_only=False)
    (problem,) = diagnose(facts, [check]).problems
    assert python in problem.remedy.commands[0]
    assert ("PowerShell" in counted([problem])) == hint


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("the first Python on PATH", "tritonwin fix --dry-run"),
        ("--python names it", f"tritonwin fix --dry-run --python {healthy.TARGET.executable}"),
        (
            "the Python of the application in .",
            f"tritonwin fix --dry-run --python {healthy.TARGET.executable}",
        ),
    ],
)
def test_doctor_says_how_fix_is_asked(
    capsys: pytest.CaptureFixture[str], source: str, command: str
) -> None:
    facts = changed(
        healthy.changed(triton=None, distributions=healthy.without("triton-windows")),
        target=changed(healthy.TARGET, source=source),
    )
    print_diagnosis(facts, diagnose(facts, CHECKS))
    assert capsys.readouterr().out.endswith(
        f"To see what fix would do about it:\n      {command}\n"
    )


def test_doctor_names_no_fix_where_nothing_is_to_be_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_diagnosis(healthy.HEALTHY, diagnose(healthy.HEALTHY, CHECKS))
    assert "fix would" not in capsys.readouterr().out
