"""Every architecture has a plan for every kind of kernel, and tuned ones take precedence."""

from __future__ import annotations

from unittest import mock

import pytest
import torch

from byte_spectral import choose, plans
from byte_spectral.spec import make_spec

KINDS = ("dot", "linear")


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
    for kind in ("hopper", "hopper_gradient", "hopper_linear"):
        assert (plans.plan(kind, capability) is None) == (capability != 90)
    assert (plans.plan("walk", capability) is None) == (capability < 80)


def test_special_cases_hold_together_later_ones_first() -> None:
    wide = {"bytes": 2, "bm": 2, "be": 5}
    entry = {"from": 0, "bm": 1, "for": [wide, {"bytes": 2, "rows": 16, "bm": 3}]}
    for purpose, bm, be in (
        ((), 1, None),
        ((("bytes", 4),), 1, None),
        ((("bytes", 2), ("rows", 32)), 2, 5),
        ((("bytes", 2), ("rows", 16)), 3, 5),
    ):
        with mock.patch.object(plans, "_data", return_value={"dot": [entry, {"from": 80}]}):
            found = plans.sure("dot", 75, purpose)
        assert (found["bm"], found.get("be")) == (bm, be)


@pytest.mark.parametrize(
    ("precision", "W", "size", "window"),
    [
        ("exact", 101, 3, 128),
        ("exact", 96, 3, 96),
        ("exact", 96, 4, 128),
        ("exact", 96, 0, 129),
        ("fast", 96, 5, 129),
        ("fast", 101, 0, 129),
    ],
)
def test_from_which_window_on_sums_go_on(precision: str, W: int, size: int, window: int) -> None:
    purpose = choose.purpose(make_spec(W, 256, None, "mag", True, precision), torch.float32, size)
    assert plans.sure("walk", 90, purpose)["window"] == window
    assert plans.sure("walk", 80, purpose)["window"] == 257


def test_an_architecture_that_is_too_old_is_named() -> None:
    with pytest.raises(RuntimeError, match="no dot plan for compute capability -1"):
        plans.sure("dot", -1)


def test_sizes_of_calls() -> None:
    rows, bins = (0, 4, 32, 16, 32, 32, 64, 128), (256, 256, 48, 256, 256, 320, 256, 256)
    counts = [B * 1024 * K for B, K in zip(rows, bins, strict=True)]
    assert [plans.size_of(count) for count in counts] == [0, 0, 1, 2, 3, 4, 5, 6]
