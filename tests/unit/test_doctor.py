"""From findings to a diagnosis: merged, folded under their causes, the root first."""

from __future__ import annotations

import time
from typing import Any

import healthy
import pytest
from cases import cases
from healthy import changed, problem
from pc import pc

from tritonwin.facts.records import Facts
from tritonwin.problems.advice import context
from tritonwin.problems.check import Check, Seen, seen
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose, fold, merge
from tritonwin.problems.records import CERTAINTIES, Evidence

ROWS = cases("diagnoses.toml", "advice")


def raising(error: BaseException) -> Check:
    def run(facts: Facts) -> list[Seen]:
        raise error

    return Check(id="triton-missing", run=run)


def test_a_check_that_raises_is_a_line_and_the_others_still_run() -> None:
    diagnosis = diagnose(changed(triton=None), [raising(ZeroDivisionError("x")), *CHECKS])
    assert diagnosis.checks[0].state == "crashed"
    assert diagnosis.checks[0].detail == "ZeroDivisionError: x"
    assert len(diagnosis.checks) == len(CHECKS) + 1


def test_explains_lists_only_what_was_found() -> None:
    folded = fold([problem("cpu-only-torch")])
    assert folded[0].explains == ()


def test_a_milder_cause_hides_no_graver_consequence() -> None:
    folded = fold([problem("cpu-only-torch", "warning"), problem("xformers-torch-mismatch")])
    assert [p.id for p in folded] == ["xformers-torch-mismatch", "cpu-only-torch"]


def test_order_is_severity_then_ground_up() -> None:
    mixed = [
        problem("long-paths-off", "info"),
        problem("cc-variable-wrong"),
        problem("build-variable-blanks", "warning"),
        problem("driver-too-old"),
    ]
    assert [p.id for p in fold(mixed)] == [
        "driver-too-old",
        "cc-variable-wrong",
        "build-variable-blanks",
        "long-paths-off",
    ]


def test_findings_of_one_id_become_one() -> None:
    first = seen("a", "x", certainty="possible", severity="warning")(id="triton-missing")
    second = seen("b", "y", certainty="likely", severity="error")(id="triton-missing")
    (merged,) = merge([first, second, second])
    assert merged.evidence == (Evidence(text="a", where="x"), Evidence(text="b", where="y"))
    assert (merged.severity, merged.certainty) == ("error", "likely")
    assert CERTAINTIES.index("likely") < CERTAINTIES.index("possible")


def test_a_hundred_thousand_findings_take_no_hundred_thousand_squared() -> None:
    many = [
        seen(f"text {number % 50_000}", "here", severity="warning")(id="triton-missing")
        for number in range(100_000)
    ]
    started = time.process_time()
    (merged,) = merge([*many, seen("text 0", "here", certainty="likely")(id="triton-missing")])
    assert time.process_time() - started < 10
    assert len(merged.evidence) == 50_000
    assert (merged.severity, merged.certainty) == ("error", "certain")


def test_every_text_may_name_what_the_facts_know() -> None:
    assert context(healthy.HEALTHY) == {
        "python_version": "3.12.9",
        "python_folder": r"C:\ComfyUI\python_embeded",
        "torch_version": "2.9.1+cu128",
        "triton_version": "3.5.1",
        "wanted_triton": "3.5",
        "triton_spec": "triton-windows<3.6",
        "gpu": "NVIDIA GeForce RTX 4090",
        "compute_capability": "8.9",
        "driver_version": "581.57",
        "cuda_version": "12.8",
        "torch_index": "https://download.pytorch.org/whl",
        "cuda_tag": "cu130",
    }
    nothing = changed(target=None, torch=None, triton=None, gpus=(), drivers=())
    assert set(context(nothing)) == {"torch_index"}


KEYS = {"about", "only", "errors", "explains", "commands", "actions", "begins", "says", "never"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["about"])
def test_advice(row: dict[str, Any]) -> None:
    facts = pc({name: value for name, value in row.items() if name not in KEYS})
    problems = diagnose(facts, [c for c in CHECKS if c.id == row.get("only", c.id)]).problems
    first = problems[0]
    if "errors" in row:
        assert [p.id for p in problems if p.severity == "error"] == row["errors"]
    assert row.get("explains", "") in " ".join(first.explains)
    assert list(first.remedy.commands) == row.get("commands", list(first.remedy.commands))
    actions = [action.name for action in first.actions]
    assert actions == row.get("actions", actions)
    if "begins" in row:
        assert first.remedy.commands
        assert all(command.startswith(row["begins"]) for command in first.remedy.commands)
    asked = (first.question.text, first.question.command) if first.question else ()
    said = " ".join((first.remedy.summary, *first.remedy.commands, *asked))
    assert [text for text in row.get("says", ()) if text not in said] == []
    every = " ".join(" ".join((p.remedy.summary, *p.remedy.commands)) for p in problems)
    assert [text for text in row.get("never", ()) if text in every] == []
