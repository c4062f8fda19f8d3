"""The given corpus: 137 logs of known causes, as they are and as they arrive."""

from __future__ import annotations

import dataclasses
import io
import json
from functools import cache
from pathlib import Path

import pytest
import score_corpus
from corpus.disguises import DISGUISES

from tritonwin.problems.explain import explain_stream

FOLDER = Path(__file__).with_name("cases")


@cache
def plain() -> score_corpus.Score:
    return score_corpus.score(FOLDER)


def test_the_first_answer_is_right() -> None:
    assert len(plain().cases) == 137
    assert plain().top1 >= 0.97, plain().confusions()


def test_certain_is_never_wrong() -> None:
    assert plain().precision == 1.0, [c.id for c in plain().cases if c.wrongly_certain]
    # not by never saying it
    assert sum(bool(c.certain) for c in plain().cases) >= 90


def test_the_decisive_lines_are_quoted() -> None:
    """Evidence names one of the lines that the corpus calls decisive, in nearly every log."""
    told = 0
    decisive = {
        entry["id"]: entry["key_lines"]
        for entry in map(json.loads, (FOLDER / "cases.jsonl").read_text("utf-8").splitlines())
    }
    for case in plain().cases:
        quoted = " ".join(e.text for p in case.answers[:1] for e in p.evidence)
        told += any(line.strip()[:60] in quoted for line in decisive[case.id])
    assert told >= 0.85 * len(plain().cases)


@pytest.mark.parametrize("name", [name for name in DISGUISES if name != "as it is"])
def test_a_disguise_changes_nothing(name: str) -> None:
    one_of_each = {case.label: case for case in plain().cases}.values()
    cases = []
    for case in one_of_each:
        text = (FOLDER / "logs" / f"{case.id}.log").read_text("utf-8")
        answers = explain_stream(io.BytesIO(DISGUISES[name](text))).problems
        cases.append(dataclasses.replace(case, answers=answers))
    disguised = score_corpus.Score(cases=tuple(cases))
    assert disguised.top1 >= 0.96, disguised.confusions()
    assert disguised.precision == 1.0


def test_the_report_names_what_was_mistaken() -> None:
    case = dataclasses.replace(plain().cases[0], label=None, right=frozenset())
    lines = list(score_corpus.report(score_corpus.Score(cases=(case,))))
    assert "top 1:       0.00%" in lines
    assert f"    nothing -> {case.answers[0].id}: {case.id}" in lines


def test_a_folder_is_scored_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("error C2872: 'std': ambiguous symbol\n")
    entries = [{"id": "a", "label": "msvc-std-ambiguous"}]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, entries)))
    assert score_corpus.main([str(tmp_path)]) == 0
    assert "top 1:     100.00%" in capsys.readouterr().out
    assert score_corpus.main([]) == 2
