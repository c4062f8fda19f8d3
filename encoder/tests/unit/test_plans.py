"""Every architecture has a plan for every kind of kernel, and tuned ones take precedence."""

from __future__ import annotations

import pytest
import torch

from byte_spectral import choose, plans
from byte_spectral.spec import make_spec

launch = pytest.importorskip("byte_spectral.launch", reason="no Triton here")
tuning = pytest.importorskip("byte_spectral.tuning", reason="no Triton here")

KINDS = ("dot", "linear", "gradient", "sliding", "slide")


@pytest.mark.parametrize("capability", [70, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121])
def test_every_architecture_has_plans(capability: int) -> None:
    for kind in KINDS:
        found = plans.sure(kind, capability)
        assert found["from"] <= capability
        sizes = [
            found[name] for name in ("bm", "be", "bk", "bd", "steps", "turns") if name in found
        ]
        assert all(size & (size - 1) == 0 for size in sizes), found
        if capability < 80:
            assert found.get("limbs", 0) == 0  # no tensor cores that Triton uses
    for kind in ("hopper", "hopper_linear", "hopper_gradient", "hopper_sliding"):
        assert (plans.plan(kind, capability) is None) == (capability != 90)


def test_bins_of_the_turned_gradient_are_rows_of_wgmma() -> None:
    found = plans.sure("hopper_gradient", 90)
    assert found["be"] == 16 * found["warps"]


def test_special_cases_and_tuned_plans() -> None:
    entry = {"from": 0, "bm": 1, "for": [{"bytes": 2, "bm": 2}, {"bytes": 2, "rows": 16, "bm": 3}]}
    assert plans.best([entry, {"from": 80}], 75) is entry
    chosen = [
        plans.special(entry, purpose)["bm"]
        for purpose in (
            (),
            (("bytes", 4),),
            (("bytes", 2), ("rows", 32)),
            (("bytes", 2), ("rows", 16)),
        )
    ]
    assert chosen == [1, 1, 2, 3]
    purpose = (("bytes", 4), ("made up", 1))
    plans.remember("dot", 80, purpose, {"bm": 7})
    try:
        assert plans.sure("dot", 80, purpose) == {"bm": 7}
        assert plans.sure("dot", 80)["bm"] != 7
    finally:
        plans.forget()
    assert plans.sure("dot", 80, purpose)["bm"] != 7


@pytest.mark.parametrize(
    ("W", "precision", "slides"),
    [(200, "exact", False), (256, "exact", True), (256, "fast", False), (257, "fast", True)],
)
def test_from_which_window_on_sums_slide(W: int, precision: str, slides: bool) -> None:
    purpose = choose.purpose(make_spec(W, 256, None, "mag", True, precision), torch.float32)
    assert (plans.slide_from(90, purpose) <= W) is slides
    assert (plans.slide_from(80, purpose) <= W) is (W > 256)


def test_an_architecture_that_is_too_old_is_named() -> None:
    with pytest.raises(RuntimeError, match="no dot plan for compute capability -1"):
        plans.sure("dot", -1)


def test_a_tuned_choice_is_taken_and_given_up() -> None:
    spec = make_spec(64, 8, None, "mag", True)
    x = torch.zeros((1, 4), dtype=torch.uint8)
    tried = list(tuning.plans_for(spec, torch.float32, 80))
    assert {kind for kind, _ in tried} == {"sliding", "dot"}
    of_kind = {"hopper": [], "hopper_sliding": []}
    for kind, plan in tuning.plans_for(spec, torch.float32, 90):
        of_kind.get(kind, []).append(plan)
    resident = of_kind["hopper"]
    assert of_kind["hopper_sliding"][0] == plans.sure("hopper_sliding", 90)
    assert resident[0] == plans.sure("hopper", 90, choose.purpose(spec, torch.float32))
    assert {plan["be"] for plan in resident} == {32, 64}
    try:
        for kind, made in (("sliding", launch.Sliding), ("dot", launch.Dot)):
            plan = next(plan for name, plan in tried if name == kind)
            tuning.use(kind, plan, spec, torch.float32, choose.capability(x.device))
            assert type(choose.form(spec, torch.float32, x.device, "tail", False)) is made
    finally:
        plans.forget()
        choose.forget()


def test_a_tuned_choice_switches_off_what_comes_before_it() -> None:
    spec = make_spec(1024, 256, None, "mag", True)
    purpose = choose.purpose(spec, torch.float32)
    before = {"dot": "hopper", "sliding": "hopper_sliding"}
    try:
        for kind, first in before.items():
            assert plans.sure(first, 90, purpose).get("widest", 1) > 0
            tuning.use(kind, plans.sure(kind, 90), spec, torch.float32, 90)
            assert plans.sure(first, 90, purpose)["widest"] == 0
        tuning.use("hopper_sliding", plans.sure("hopper_sliding", 90), spec, torch.float32, 90)
        assert plans.slide_from(90, purpose) == 1024
        assert plans.sure("hopper_sliding", 90, purpose)["widest"] >= 1024
    finally:
        plans.forget()
        choose.forget()
