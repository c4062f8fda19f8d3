"""From findings to a diagnosis: merged, folded under their causes, the root first."""

from __future__ import annotations

import time

import healthy
import pytest
from healthy import changed, dist, gpu, part, problem

from tritonwin.facts.records import Facts
from tritonwin.problems.advice import context
from tritonwin.problems.check import Check, Seen, seen
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose, fold, merge
from tritonwin.problems.records import CERTAINTIES, Evidence


def raising(error: BaseException) -> Check:
    def run(facts: Facts) -> list[Seen]:
        raise error

    return Check(id="triton-missing", run=run)


def test_a_check_that_raises_is_a_line_and_the_others_still_run() -> None:
    diagnosis = diagnose(changed(triton=None), [raising(ZeroDivisionError("x")), *CHECKS])
    assert diagnosis.checks[0].state == "crashed"
    assert diagnosis.checks[0].detail == "ZeroDivisionError: x"
    assert len(diagnosis.checks) == len(CHECKS) + 1


def test_consequences_are_folded_under_their_cause() -> None:
    facts = changed(
        torch=healthy.part("torch", version="2.9.1+cpu", cuda=None).torch,
        distributions=(
            *healthy.HEALTHY.distributions,
            dist("xformers", "0.0.31", requires=("torch==2.7.1",)),
        ),
    )
    problems = [p for p in diagnose(facts, CHECKS).problems if p.severity == "error"]
    assert [p.id for p in problems] == ["cpu-only-torch"]
    assert "xformers-torch-mismatch" in problems[0].explains


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


def test_the_command_names_the_interpreter() -> None:
    (found,) = diagnose(
        changed(triton=None), [c for c in CHECKS if c.id == "triton-missing"]
    ).problems
    assert found.remedy.commands == (
        rf'{healthy.HOME}\python.exe -m pip install -U "triton-windows<3.6"',
    )


def test_where_no_interpreter_is_known_the_command_is_pythons() -> None:
    broken = changed(target=None, torch=part("torch", version="2.9.1+cpu", cuda=None).torch)
    (found,) = diagnose(broken, [c for c in CHECKS if c.id == "cpu-only-torch"]).problems
    assert found.remedy.commands
    assert all(command.startswith("python -m pip ") for command in found.remedy.commands)


@pytest.mark.parametrize(
    ("facts", "spec"),
    [
        (healthy.HEALTHY, "triton-windows<3.6"),
        (part("torch", version="2.4.1", wants_triton="==3.0.0"), "triton-windows<3.2"),
        (part("system", os="linux"), "triton==3.5.1"),
    ],
)
def test_what_pip_is_asked_for(facts: Facts, spec: str) -> None:
    broken = healthy.replace(facts, triton=None)
    (found,) = diagnose(broken, [c for c in CHECKS if c.id == "triton-missing"]).problems
    assert spec in found.remedy.commands[0]


@pytest.mark.parametrize(
    ("cuda", "card", "tag"),
    [("13.0", "8.9", "cu130"), ("12.9", "12.0", "cu129"), ("13.0", "6.1", "cu126")],
)
def test_the_index_of_torch_fits_driver_and_card(cuda: str, card: str, tag: str) -> None:
    driver = healthy.replace(healthy.HEALTHY.drivers[0], cuda=cuda)
    facts = healthy.replace(
        part("torch", version="2.9.1", cuda=None), drivers=(driver,), gpus=(gpu(card),)
    )
    (found,) = diagnose(facts, [c for c in CHECKS if c.id == "cpu-only-torch"]).problems
    assert any(command.endswith(f'/{tag}"') for command in found.remedy.commands)


@pytest.mark.parametrize(("card", "told"), [("7.5", True), ("8.9", False)])
def test_a_turing_card_is_told_what_the_newest_torch_costs(card: str, told: bool) -> None:
    facts = healthy.replace(part("torch", version="2.9.1+cpu", cuda=None), gpus=(gpu(card),))
    (found,) = diagnose(facts, [c for c in CHECKS if c.id == "cpu-only-torch"]).problems
    assert ("torch 2.6 with Triton 3.2 is the newest pair" in found.remedy.summary) is told
    assert [action.name for action in found.actions] == ["install-distribution"]
    assert len(found.remedy.commands) == 2


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


def test_a_triton_in_another_python_explains_the_one_that_is_missing_here() -> None:
    other = healthy.replace(
        healthy.TARGET, executable=r"C:\Python311\python.exe", packages={"triton-windows": "3.8.0"}
    )
    facts = changed(triton=None, distributions=(), interpreters=(other,))
    first, *others = diagnose(facts, CHECKS).problems
    assert first.id == "wrong-interpreter"
    assert "triton-missing" in first.explains
    assert [p.id for p in others if p.severity == "error"] == []


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


def test_without_torch_no_triton_is_named_but_torch_is_asked_for() -> None:
    (found,) = diagnose(
        changed(torch=None, triton=None), [c for c in CHECKS if c.id == "triton-missing"]
    ).problems
    assert found.remedy.commands == found.actions == ()
    assert found.question
    assert found.question.command.endswith('-c "import torch; print(torch.__version__)"')
    assert "torch 2.6 takes triton-windows<3.3," in found.question.text


def test_triton_3_2_stays_on_a_turing_card() -> None:
    facts = part("triton", version="3.2.0")
    facts = healthy.replace(facts, gpus=(gpu("7.5"),))
    problems = diagnose(facts, CHECKS).problems
    too_old = next(p for p in problems if p.id == "triton-too-old")
    assert too_old.remedy.commands == too_old.actions == ()
    assert not [c for p in problems for c in p.remedy.commands if "triton-windows<3.6" in c]
