"""The permutation of the taps' columns makes a thread's accumulators what it has to store."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

import packing

from byte_spectral import plans
from byte_spectral.hopper import store_layout
from byte_spectral.launch_gluon import Hopper, in_order
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
    # column b of these taps is b: what packing.arrange puts where is the permutation
    taps = torch.arange(width, dtype=torch.float64).repeat(1, 2)
    packed = packing.arrange(taps, 0, 1, width, 0, pairs).reshape(2, width)[0] * 255
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


def test_the_rows_of_a_matrix_are_read_in_the_order_of_the_taps() -> None:
    """So that the same names of registers serve both kernels; see `hopper.put`."""
    bins = torch.arange(64, dtype=torch.float64)
    columns = packing.arrange(bins.repeat(1, 2), 0, 1, 64, 0, 4).reshape(2, 64)[0] * 255
    rows = in_order(bins[:, None].expand(64, 8).contiguous()).reshape(64, 8)[:, 0]
    assert torch.equal(rows, columns.round().double())
    assert not torch.equal(rows, bins)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({}, True),
        ({"W": 50}, True),  # taps that stand for no byte are 0
        ({"length": 1000}, False),  # a row ends in a tile
        ({"causal": False}, False),
        ({"bare": False}, False),  # history, or lengths
    ],
)
def test_only_regular_frames_are_read_without_all_masks(given: dict[str, Any], taken: bool) -> None:
    o = {"W": 64, "length": 1024, "causal": True, "bare": True} | given
    spec = make_spec(o["W"], 256, None, "mag", o["causal"])
    form = Hopper(spec, torch.float32, torch.device("cpu"), plans.sure("hopper", 90))
    skip = 0 if o["bare"] else 7
    x = torch.empty(2, o["length"] + skip, dtype=torch.uint8)
    assert form.launch(x, None, skip, {}).numbers[-1].regular is taken
