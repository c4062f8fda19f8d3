"""Kernels of sm_90 computed without a GPU; the limits of that are in `gluon_in_numpy`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from compare import error, random_bytes
from watched_kernels import gpu

from byte_spectral import (
    byte_spectral,
    byte_spectral_linear,
    fallback,
    launch_gluon,
    plans,
    reference,
)
from byte_spectral.launch_gluon import Walking
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("K", "W", "T", "plan"),
    [
        (128, 64, 128, {}),  # each program has as many chunks as the others, and whole ones
        (96, 64, 128, {"split": 2}),  # four chunks, of which the matrix has three
        (160, 64, 101, {"split": 2}),
        (80, 64, 128, {}),  # half a chunk
        (96, 40, 128, {"split": 3}),
        (96, 64, 128, {"shared": 4 * 2 * 64 * 32}),  # one chunk fits a program
        (160, 128, 70, {"shared": 2 * 4 * 2 * 128 * 32}),  # two fit, so three programs for five
    ],
    ids=str,
)
def test_encode(K: int, W: int, T: int, plan: dict[str, int]) -> None:
    """Written is the output and nothing else, however the bins are shared between programs."""
    spec = make_spec(W, K, None, "mag", True)
    given = {"bm": 64, "be": 32, "warps": 4, "split": 1, "per_sm": 1, "shared": 227000,
             "fill": 0, "most": 1} | plan  # fmt: skip
    x, taps = random_bytes(3, T), dft_taps(spec).float()
    with gpu(90):
        form = launch_gluon.Hopper(spec, torch.float32, CPU, given, "tail")
        found = form(x, form.pack(taps))
    assert error(found, reference(x, W=W, K=K)) < 1e-6


@pytest.mark.parametrize(
    ("T", "precision", "split"),
    [(200, "exact", 4), (400, "exact", 2), (700, "exact", 1), (700, "fast", 2), (1100, "fast", 1)],
)
def test_few_rows_share_their_bins_among_more_programs(T: int, precision: str, split: int) -> None:
    """On 8 multiprocessors: tiles of 128 rows, each split by at most 4."""
    spec, x = make_spec(64, 256, None, "mag", True, precision), random_bytes(1, T)
    plan = plans.sure("hopper", 90, (("precision", precision),))
    with gpu(90, processors=8):
        form = launch_gluon.Hopper(spec, torch.float32, CPU, plan, "tail")
        taps = form.pack(dft_taps(spec).float())
        assert form.launch(x, None, 0, {}).numbers[-1].split == split
        found = form(x, taps)
    assert error(found, reference(x)) < (1e-6 if precision == "exact" else 2e-4)


@pytest.mark.parametrize("K", [32, 96, 160, 288, 1024])
def test_no_program_is_without_bins_or_with_more_than_fit(K: int) -> None:
    """Not for a plan either that was found for other bins, of more programs than have room."""
    spec = make_spec(256, K, None, "mag", True)
    plan = plans.sure("hopper", 90) | {"be": 64, "split": 4, "per_sm": 4}
    assert launch_gluon.Hopper.fits(spec, plan, 0)
    form = launch_gluon.Hopper(spec, torch.float32, CPU, plan, "tail")
    assert (form.split - 1) * form.own * 64 < K <= form.split * form.own * 64
    assert form.own * 4 * 2 * 256 * 64 <= plan["shared"]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("W", [40, 64])
def test_lengths_past_the_end_of_a_row_are_that_of_the_row(W: int, causal: bool) -> None:
    x, o = random_bytes(3, 70), {"W": W, "K": 40, "causal": causal}
    lengths = torch.tensor([200, 3, 70])
    with gpu(90):
        found = byte_spectral(x, lengths=lengths, **o)
    assert error(found, reference(x, lengths=lengths, **o)) < 1e-6


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("D", "K", "first"), [(64, 96, 1), (24, 40, 3), (96, 8, 8), (1, 8, 0), (1, 40, 5)]
)
def test_a_matrix_may_be_part_of_another(D: int, K: int, first: int, kind: torch.dtype) -> None:
    """Bulk copies begin at multiples of 16 bytes; a matrix may begin anywhere."""
    x = random_bytes(2, 70)
    flat = (torch.randn(D * K + first) / K**0.5).to(kind)[first:]
    weight, bias = flat.as_strided((D, K), (K if D > 1 else 1, 1)), torch.randn(2 * D)[::2]
    with gpu(90):
        found = byte_spectral_linear(x, weight, bias)
    wanted = reference(x, K=K) @ weight.double().T + bias.double()
    assert error(found, wanted) < 6e-3


@pytest.mark.parametrize(
    ("o", "given", "bound"),
    [
        ({"W": 512}, {"T": 1300, "turns": 16}, 1e-6),  # N divides W
        ({"W": 192}, {"T": 1100}, 1e-6),  # every other bin turns what leaves by -1
        ({"W": 96}, {"T": 300}, 1e-6),  # one and a half chunks
        ({"W": 256}, {"T": 1030, "turns": 4, "lane": 4, "ahead": False}, 1e-6),
        ({"W": 509, "parts": "logmag"}, {"T": 700}, 1e-5),  # no whole number of blocks
        ({"W": 1100, "K": 33}, {"T": 1300, "be": 32, "warps": 4}, 1e-6),  # longer than a segment
        ({"W": 70, "N": 77, "causal": False}, {"T": 300, "steps": 32}, 1e-6),
        ({"W": 200, "parts": "reim"}, {"T": 600, "lengths": True, "skip": 77}, 1e-6),
        ({"W": 512, "parts": "power"}, {"T": 1024, "byte_limbs": 1}, 2e-4),
        ({"W": 300, "window": "rect"}, {"T": 1100, "be": 32, "warps": 4}, 1e-6),
    ],
    ids=str,
)
def test_walk(o: dict[str, Any], given: dict[str, Any], bound: float) -> None:
    o = {"K": 64, "N": None, "parts": "mag", "causal": True} | o
    spec = make_spec(o["W"], o["K"], o["N"], o["parts"], o["causal"])
    x, skip = random_bytes(2, given["T"]), given.get("skip", 0)
    lengths = torch.tensor([200, 499], dtype=torch.int32) if given.get("lengths") else None
    tiles = {n: v for n, v in given.items() if n not in ("T", "lengths", "skip")}
    plan, window = plans.sure("walk", 90) | tiles, o.get("window", "tail")
    with gpu(90):
        found = Walking(spec, torch.float32, CPU, plan, window)(x, None, lengths, skip)
    wanted = reference(x, lengths=lengths, **o)[:, skip:]
    assert error(found, wanted) < bound


@pytest.mark.parametrize("parts", ["mag", "logmag", "power"])
@pytest.mark.parametrize(
    "o",
    [{"T": 256}, {"T": 101, "K": 40}, {"T": 200, "W": 40, "causal": False},
     {"T": 130, "lengths": [101, 130, 5]}],
    ids=str,
)  # fmt: skip
def test_gradient(parts: str, o: dict[str, Any]) -> None:
    T, K, W = o["T"], o.get("K", 64), o.get("W", 64)
    spec, x = make_spec(W, K, None, parts, o.get("causal", True)), random_bytes(3, T)
    ends = torch.tensor(o["lengths"], dtype=torch.int32) if "lengths" in o else None
    upstream, taps = torch.randn(3, T, K), dft_taps(spec).requires_grad_()
    out = fallback.encode(x, spec, taps, torch.float64, ends)
    (wanted,) = torch.autograd.grad(out, taps, upstream.double())
    plan = plans.sure("hopper_gradient", 90) | {"splits": 3}
    with gpu(90):
        form = launch_gluon.Gradient(spec, CPU, plan)
        found = form.gradient(x, taps.detach().float(), upstream, ends)
    assert error(found, wanted) < 3e-5


def test_walk_sees_no_later_byte() -> None:
    x, spec = random_bytes(1, 1100), make_spec(100, 32, None, "reim", True)
    y = torch.cat([x[:, :777], 255 - x[:, 777:]], dim=1)
    plan = plans.sure("walk", 90) | {"steps": 16, "be": 32, "warps": 4}
    with gpu(90):
        form = Walking(spec, torch.float32, CPU, plan, "tail")
        assert torch.equal(form(x)[:, :777], form(y)[:, :777])
