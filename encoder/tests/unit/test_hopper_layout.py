"""The permutation of the taps' columns makes a thread's accumulators what it has to store."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from byte_spectral import pack, plans
from byte_spectral.hopper import store_layout
from byte_spectral.hopper_gradient import neighbours
from byte_spectral.launch_hopper import Hopper, HopperGradient, HopperWalking, in_order
from byte_spectral.spec import make_spec

Place = tuple[int, int]


def spanned(bases: Sequence[Sequence[int]]) -> list[Place]:
    """Every place that the bases span, in order."""
    places = [(0, 0)]
    for row, column in bases:
        places += [(r ^ row, c ^ column) for r, c in places]
    return places


def accumulators(warp: int, lane: int, width: int) -> set[Place]:
    """Rows and columns of a thread's results of wgmma m64nNk16 (PTX ISA, figure of the D fragment)."""
    row, column = 16 * warp + lane // 4, 2 * (lane % 4)
    return {
        (row + 8 * i, column + 8 * j + k) for i in (0, 1) for j in range(width // 8) for k in (0, 1)
    }


@pytest.mark.parametrize(
    ("warps", "width", "pairs"), [(8, 64, 2), (16, 64, 4), (4, 128, 2), (8, 256, 4)]
)
def test_a_thread_stores_what_it_has(warps: int, width: int, pairs: int) -> None:
    layout = store_layout(SimpleNamespace(bm=16 * warps, warps=warps), width, 64 // pairs)
    # column b of these taps is b: what pack.arrange puts where is the permutation
    taps = torch.arange(width, dtype=torch.float64).repeat(1, 2)
    packed = pack.arrange(taps, 0, 1, width, 0, pairs).reshape(2, width)[0] * 255
    bins = [round(float(b)) for b in packed]
    assert sorted(bins) == list(range(width))
    for warp in range(warps):
        for lane in range(32):
            (r, c) = (0, 0)
            for bit, base in enumerate([*layout.lane_bases, *layout.warp_bases]):
                if (lane | warp << 5) >> bit & 1:
                    r, c = r ^ base[0], c ^ base[1]
            stored = [(r ^ row, c ^ column) for row, column in spanned(layout.reg_bases)]
            assert set(stored) == {(r, bins[c]) for r, c in accumulators(warp, lane, width)}
            for first in range(0, len(stored), 2 * pairs):  # 16 bytes at once
                row, column = stored[first]
                assert column % (2 * pairs) == 0
                run = [(row, column + i) for i in range(2 * pairs)]
                assert stored[first : first + 2 * pairs] == run


@pytest.mark.parametrize(("warps", "columns"), [(8, 64), (4, 32)])
def test_a_thread_has_the_gradient_of_its_own_bins(warps: int, columns: int) -> None:
    """Bin 2l + i of 16 is row 8i + l of the product, as `hopper_gradient.pack` writes it."""
    layout = neighbours(16 * warps, columns, warps)
    for warp in range(warps):
        for lane in range(32):
            (k, c) = (0, 0)
            for bit, base in enumerate([*layout.lane_bases, *layout.warp_bases]):
                if (lane | warp << 5) >> bit & 1:
                    k, c = k ^ base[0], c ^ base[1]
            held = [(k ^ bin_, c ^ column) for bin_, column in spanned(layout.reg_bases)]
            rows = {(b // 16 * 16 + b % 2 * 8 + b % 16 // 2, column) for b, column in held}
            assert rows == accumulators(warp, lane, columns)
            first, second = held[:2]  # 8 bytes at once
            assert first[0] % 2 == 0
            assert second == (first[0] + 1, first[1])


@pytest.mark.parametrize(
    ("given", "gradient", "walk"),
    [
        ({"W": 64}, True, False),
        ({"W": 64, "parts": "reim"}, False, False),
        ({"W": 64, "causal": False}, False, False),
        ({"W": 65}, False, True),
        ({"W": 509, "K": 33, "N": 77, "causal": False, "parts": "reim"}, False, True),
    ],
)
def test_which_transforms_the_other_forms_take(
    given: dict[str, Any], gradient: bool, walk: bool
) -> None:
    o = {"K": 256, "N": None, "parts": "mag", "causal": True} | given
    spec = make_spec(o["W"], o["K"], o["N"], o["parts"], o["causal"])
    assert HopperGradient.fits(spec, plans.sure("hopper_gradient", 90)) is gradient
    plan = plans.sure("hopper_walk", 90)
    assert HopperWalking.fits(spec, plan, "tail") is walk
    assert not HopperWalking.fits(spec, plan, "rect")


def test_the_rows_of_a_matrix_are_read_in_the_order_of_the_taps() -> None:
    """So that the same names of registers serve both kernels; see `hopper.put`."""
    bins = torch.arange(64, dtype=torch.float64)
    columns = pack.arrange(bins.repeat(1, 2), 0, 1, 64, 0, 4).reshape(2, 64)[0] * 255
    rows = in_order(bins[:, None].expand(64, 8).contiguous()).reshape(64, 8)[:, 0]
    assert torch.equal(rows, columns.round().double())
    assert not torch.equal(rows, bins)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({}, True),
        ({"W": 50}, False),  # taps that stand for no byte
        ({"length": 1000}, False),  # a row ends in a tile
        ({"causal": False}, False),
        ({"bare": False}, False),  # history, or lengths
    ],
)
def test_only_regular_frames_are_read_without_all_masks(given: dict[str, Any], taken: bool) -> None:
    o = {"W": 64, "length": 1024, "causal": True, "bare": True} | given
    spec = make_spec(o["W"], 256, None, "mag", o["causal"])
    form = Hopper(spec, torch.float32, torch.device("cpu"), plans.sure("hopper", 90))
    R, skip = o["length"], 0 if o["bare"] else 7
    assert form.of_rows(2 * R, R, None, skip)["regular"] is taken
