"""Texts for people: safe, and not longer than a person reads."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace as changed

import healthy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.facts.records import ChosenBy, Facts
from tritonwin.output import html
from tritonwin.output.documents import DoctorReport, outcome_report
from tritonwin.output.markdown import issue
from tritonwin.output.terminal import print_view
from tritonwin.output.text import printable
from tritonwin.output.view import counted, of_diagnosis, of_explanation
from tritonwin.problems.check import Check, Seen, seen
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines
from tritonwin.system.codec import to_json

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
    check = Check(id="triton-missing", run=lambda _: many)
    view = of_diagnosis(healthy.HEALTHY, diagnose(healthy.HEALTHY, [check]))
    print_view(view)
    short = capsys.readouterr().out
    assert len(short) < 4_000
    print_view(view, everything=True)
    out = capsys.readouterr().out
    assert len(out) < 40_000
    assert "- and 80 more, with --json" in out
    assert "- 019" in out


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
    check = Check(id="triton-missing", run=lambda _: [missing])
    (problem,) = diagnose(facts, [check]).problems
    assert python in problem.remedy.commands[0]
    assert ("PowerShell" in " ".join(counted([problem]))) == hint


MISSING = healthy.changed(triton=None, distributions=healthy.without("triton-windows"))


@pytest.mark.parametrize(
    ("chosen_by", "command"),
    [
        ("first-on-path", "tritonwin fix"),
        ("python", f"tritonwin fix --python {healthy.TARGET.executable}"),
        ("app", f"tritonwin fix --python {healthy.TARGET.executable}"),
    ],
)
def test_doctor_says_how_fix_is_asked(
    capsys: pytest.CaptureFixture[str], chosen_by: ChosenBy, command: str
) -> None:
    facts = changed(MISSING, target=changed(healthy.TARGET, chosen_by=chosen_by))
    print_view(of_diagnosis(facts, diagnose(facts, CHECKS)))
    assert f"\n      {command}\n" in capsys.readouterr().out


def test_a_package_that_is_missing_is_not_called_ok(capsys: pytest.CaptureFixture[str]) -> None:
    print_view(of_diagnosis(facts := changed(MISSING, torch=None), diagnose(facts, CHECKS)))
    out = capsys.readouterr().out
    assert re.search(r"^  torch +- +not installed$", out, re.MULTILINE)
    assert re.search(r"^  Triton +problem +not installed$", out, re.MULTILINE)


def test_a_snapshot_gets_no_command_of_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tritonwin.output.invocation._of_this_process", lambda: "mine.exe t.pyz")
    print_view(of_diagnosis(MISSING, diagnose(MISSING, CHECKS), here=False))
    out = capsys.readouterr().out
    assert "mine.exe" not in out
    assert "on the machine in question" in out
    assert "      tritonwin fix\n" in out
    print_view(of_diagnosis(MISSING, diagnose(MISSING, CHECKS)))
    assert "      mine.exe t.pyz fix\n" in capsys.readouterr().out
    explanation = explain_lines(["Guessing wheel URL: x-win_amd64.whl"])
    for here in (True, False):
        print_view(of_explanation(explanation, "a.log", here=here))
        assert ("mine.exe t.pyz install" in capsys.readouterr().out) == here


def test_a_check_that_failed_is_no_health_and_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    def fails(facts: Facts) -> list[Seen]:
        raise ZeroDivisionError

    check = Check(id="triton-missing", run=fails)
    diagnosis = diagnose(healthy.HEALTHY, [check])
    assert not diagnosis.healthy
    view = of_diagnosis(healthy.HEALTHY, diagnosis)
    print_view(view)
    texts = [capsys.readouterr().out, issue(view), html.report(view)]
    texts.append(json.dumps(to_json(outcome_report(DoctorReport, healthy.TARGET, diagnosis))))
    for text in texts:
        assert "ZeroDivisionError" in text
        assert "crashed" in text or "check failed" in text


def test_doctor_names_no_fix_where_nothing_is_to_be_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_view(of_diagnosis(healthy.HEALTHY, diagnose(healthy.HEALTHY, CHECKS)))
    out = capsys.readouterr().out
    assert "tritonwin fix" not in out
    assert out.startswith("Triton should work here")


@pytest.mark.parametrize("colour", ["NO_COLOR", "FORCE_COLOR"])
def test_a_terminal_has_its_width_with_and_without_colour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], colour: str
) -> None:
    for name, value in {"COLUMNS": "80", "NO_COLOR": "", "FORCE_COLOR": "", colour: "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    print_view(of_diagnosis(MISSING, diagnose(MISSING, CHECKS)))
    plain = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "Triton will not work here" in plain
    assert [line for line in plain.splitlines() if len(line) > 80 and "see https" not in line] == []
