"""Every signature finds what it is made for, and none of its near misses.

`signatures/*.toml` hold a few lines of a log for each certainty that a problem can have, and
under `near` lines that look alike. The texts are those that the programs print, in the languages
that Windows and its compiler have; where a source is named it was read there.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from regex_lint import flaws

from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import LinePattern, LogSignature, load
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.explain.lines import normalise
from tritonwin.problems.explain.matches import match
from tritonwin.problems.records import CERTAINTIES
from tritonwin.system import toml

ENTRIES = load().entries
FILES = sorted((Path(__file__).parent / "signatures").glob("*.toml"))
TEXTS: dict[str, dict[str, list[str]]] = {
    problem: texts
    for file in FILES
    for problem, texts in toml.loads(file.read_text("utf-8")).items()
}

VENDORS = toml.loads((Path(__file__).parent / "vendors.toml").read_text("utf-8"))

# No log tells these from another problem; the facts do.
FACTS_ONLY = {
    "cc-and-toolchain-absent": "in a log it is no-c-compiler",
    "environment-drifted": "it takes a record of the last proven state",
    "windows-too-old": "logs of it were never seen: Python 3.9 does not start there",
    "triton-patch-overwritten": "it takes a record of what was patched",
    "triton-patch-incomplete": "its failures are those of triton-sources-not-for-windows",
}


def cases(*kinds: str) -> list[object]:
    return [
        pytest.param(problem, kind, text.strip(), id=f"{problem}-{kind}-{number}")
        for problem, texts in TEXTS.items()
        for kind in kinds
        for number, text in enumerate(texts.get(kind, []))
    ]


def found(text: str) -> dict[str, str]:
    """Certainty by id, with what was folded."""
    problems = explain_lines(text.split("\n")).problems
    return {p.id: p.certainty for p in problems} | {
        folded: "folded" for p in problems for folded in p.explains
    }


@pytest.mark.parametrize(("problem", "certainty", "text"), cases(*CERTAINTIES))
def test_a_problem_is_found(problem: str, certainty: str, text: str) -> None:
    assert found(text).get(problem) in {certainty, "folded"}


@pytest.mark.parametrize(("problem", "kind", "text"), cases("near"))
def test_a_near_miss_is_not(problem: str, kind: str, text: str) -> None:
    assert found(text).get(problem) in {None, "possible"}, kind


def test_every_problem_has_texts_or_a_reason_to_have_none() -> None:
    signed = {e.id for e in ENTRIES.values() if e.signatures}
    assert signed == TEXTS.keys(), "what has signatures has a table in signatures/*.toml"
    assert ENTRIES.keys() - TEXTS.keys() == FACTS_ONLY.keys(), (
        "what has no signature says why in FACTS_ONLY above"
    )
    assert not [problem for problem, texts in TEXTS.items() if not texts.get("near")]


each_signature = pytest.mark.parametrize(
    ("problem", "signature"),
    [
        pytest.param(entry.id, signature, id=f"{entry.id}-{number}")
        for entry in ENTRIES.values()
        for number, signature in enumerate(entry.signatures, 1)
    ],
)


@each_signature
def test_no_signature_is_dead(problem: str, signature: LogSignature) -> None:
    lines = [
        normalise(line)
        for text in (
            *(text for kind in CERTAINTIES for text in TEXTS.get(problem, {}).get(kind, [])),
            *(row["text"] for row in VENDORS["row"] if problem in row["id"]),
        )
        for line in text.split("\n")
    ]
    assert any(match(signature, line) is not None for line in lines), (
        f"no text of {problem} in signatures/*.toml or vendors.toml has a line for this one"
    )


@each_signature
def test_expressions_are_searched_in_linear_time(problem: str, signature: LogSignature) -> None:
    marks = (*signature.before, *signature.after, *signature.without)
    patterns: tuple[LinePattern, ...] = (signature, *map(load().pattern, marks))
    lines = [load().expression(pattern.line) for pattern in patterns if pattern.line]
    assert [flaw for line in lines for flaw in flaws(line)] == [], problem


def test_marks_and_words_are_used() -> None:
    folder = Path(catalogue.__file__).parent
    texts = {file.name: file.read_text("utf-8") for file in folder.glob("*.toml")}
    shared = toml.loads(texts["marks.toml"])
    everything = "\n".join(texts.values())
    assert [m for m in shared["marks"] if f'"{m}"' not in everything] == []
    assert [w for w in shared["words"] if f"(?P>{w})" not in everything] == []
