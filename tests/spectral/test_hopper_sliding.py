"""What the sliding form of sm_90 relies on: its formula with the states that `windows` finds, and the
names of its registers. The kernel itself runs on a GPU only."""

from __future__ import annotations

import math

import pytest
import torch

pytest.importorskip("triton.experimental.gluon", reason="no Triton with Gluon here")

from tritonwin.spectral import choose, launch, reference
from tritonwin.spectral.hopper import store_layout
from tritonwin.spectral.hopper_sliding import by_sixteen
from tritonwin.spectral.launch_sliding import chunk_taps
from tritonwin.spectral.spec import make_spec

STEPS = 8
PLAN = {"limbs": 2, "be": 16, "warps": 1, "steps": STEPS, "turns": 4, "state_be": 16,
        "state_warps": 1}  # fmt: skip


@pytest.mark.parametrize(("window", "W", "causal"), [("tail", 64, True), ("rect", 44, False)])
def test_states_and_taps_make_the_transform(window: str, W: int, causal: bool) -> None:
    if not choose.INTERPRETED:
        pytest.skip("TRITON_INTERPRET=1 was not set before the first import")
    K, B, T = 16, 2, 90
    x = torch.randint(256, (B, T), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    spec = make_spec(W, K, None, "reim", causal)
    form = launch.Sliding(spec, torch.float32, torch.device("cpu"), PLAN, window)
    kept = []
    form.caller = lambda key, grid, tensors, *rest: kept.append(tensors[0])
    form(x)
    z = torch.view_as_complex(
        kept[0].double().reshape(B, -1, form.turns.shape[1], 2, K).transpose(-1, -2).contiguous()
    )
    t = torch.arange(T)
    n = t % STEPS
    z = z[:, t // STEPS]
    turn = torch.exp(1j * n.double() * (math.pi / W))[None, :, None]
    state = z[:, :, 0]
    if window == "tail":
        state = state + (turn.conj() * z[:, :, 1] + turn * z[:, :, 2]) / 2
    phase = (n[:, None] * torch.arange(K)).double() * (2 * math.pi / spec.N)
    found = state * torch.exp(-1j * phase)
    taps = torch.complex(*chunk_taps(spec, window, STEPS).chunk(2, dim=1))
    for i in range(2 * STEPS):
        at = t + spec.shift - (i % STEPS + (W if i >= STEPS else 0))
        here = (at >= 0) & (at < T) & (i % STEPS <= n)
        s = torch.where(here, x[:, at.clamp(0, T - 1)].double() / 127.5 - 1, 0.0)
        found = found + s[:, :, None] * taps[i]
    wanted = reference(x, W=W, K=K, parts="reim", window=window, causal=causal)
    found = torch.cat([found.real, found.imag], dim=-1)
    assert float((found - wanted).norm() / wanted.norm()) < 6e-7


@pytest.mark.parametrize(("warps", "width", "pairs"), [(8, 32, 2), (16, 32, 4), (4, 16, 2)])
def test_rows_by_sixteen_are_the_rows(warps: int, width: int, pairs: int) -> None:
    flat = store_layout(16 * warps, width, warps, pairs)
    split = by_sixteen(16 * warps, width, warps, pairs)
    for name in ("reg_bases", "lane_bases", "warp_bases"):
        joined = [[16 * s + row, column] for s, row, column in getattr(split, name)]
        assert sorted(joined) == sorted(list(base) for base in getattr(flat, name))
