"""Logs rebuilt from public threads, with what a right remedy says and what would harm.

A case was labelled before any log of its set was explained. `fresh`, `a` and `amd-a` were looked at
afterwards; `b` and `amd-b` were measured once: nothing is changed for a log of theirs.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tritonwin.problems.explain import explain_stream
from tritonwin.problems.records import Problem

FOLDER = Path(__file__).with_name("threads")
SETS = {"fresh": 1.0, "a": 0.85, "b": 0.85, "amd-a": 0.85, "amd-b": 0.8}  # first answers
FILLER = re.compile(r"\(not known\)|\(version not known\)|\bas installed\b|\{[a-z]\w*\}")


@cache
def answers(name: str) -> tuple[tuple[dict[str, Any], tuple[Problem, ...]], ...]:
    cases = map(json.loads, (FOLDER / name / "cases.jsonl").read_text("utf-8").splitlines())
    found = []
    for case in cases:
        with (FOLDER / name / "logs" / f"{case['id']}.log").open("rb") as log:
            found.append((case, explain_stream(log).problems))
    return tuple(found)


def advice(problem: Problem) -> str:
    question = problem.question
    asked = (question.text, question.command or "") if question else ()
    return "\n".join((problem.remedy.summary, *problem.remedy.commands, *asked))


def is_right(case: dict[str, Any], problems: tuple[Problem, ...]) -> bool:
    right = {case["label"], *case.get("accept", ())}
    if case["label"] == "none-fits" and all(p.certainty == "possible" for p in problems):
        return True
    return bool(problems) and problems[0].id in right


@pytest.mark.parametrize("name", SETS)
def test_the_first_answer_is_right(name: str) -> None:
    wrong = [case["id"] for case, problems in answers(name) if not is_right(case, problems)]
    assert len(wrong) <= (1 - SETS[name]) * len(answers(name)), wrong


@pytest.mark.parametrize("name", SETS)
def test_certain_is_never_wrong(name: str) -> None:
    assert [
        case["id"]
        for case, problems in answers(name)
        if problems and problems[0].certainty == "certain" and not is_right(case, problems)
    ] == []


@pytest.mark.parametrize("name", SETS)
def test_no_text_fills_a_gap(name: str) -> None:
    said = [
        (case["id"], filler[0])
        for case, problems in answers(name)
        for p in problems
        if (filler := FILLER.search("\n".join((p.title, p.cause, advice(p)))))
    ]
    assert said == []


@pytest.mark.parametrize("name", ["fresh", "a", "amd-a"])
def test_no_advice_harms(name: str) -> None:
    harm = [
        (case["id"], hit[0])
        for case, problems in answers(name)
        for pattern in case.get("remedy_never", ())
        for p in problems
        if (hit := re.search(pattern, advice(p), re.IGNORECASE | re.MULTILINE))
    ]
    assert harm == []
