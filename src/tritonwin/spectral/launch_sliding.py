"""The sliding form on sm_90 behind tensors. Needs a Triton with Gluon."""

from __future__ import annotations

import math
from typing import Any

import torch
from triton.experimental.gluon import language as gl

from tritonwin.spectral import hopper_sliding, pack, windows
from tritonwin.spectral.caller import Caller
from tritonwin.spectral.launch import FEW_BLOCKS, Form, cdiv, rows_and_bytes
from tritonwin.spectral.launch_hopper import LARGEST_BOX, described
from tritonwin.spectral.plans import Plan
from tritonwin.spectral.spec import Spec
from tritonwin.spectral.taps import gain, window_tensor


def chunk_taps(spec: Spec, window: str, steps: int) -> torch.Tensor:
    """What the state of a chunk does not know: the bytes that came since, and the weight that it
    still gives to those that left. float64 (2 steps, 2K), newest first; lags 0.. and W.. ."""
    r = torch.arange(steps)
    if window == "tail":
        angle = r.double() * (math.pi / (2 * spec.W))
        weight = torch.cat([angle.cos() ** 2, -(angle.sin() ** 2)])
    else:
        weight = torch.ones(2 * steps, dtype=torch.float64)
        weight[steps:] = -1
    lag = torch.cat([r, spec.W + r])
    phase = (lag[:, None] * torch.arange(spec.K) % spec.N).double() * (2 * math.pi / spec.N)
    weight = weight * gain(window_tensor(window, spec.W))
    return weight[:, None] * torch.cat([phase.cos(), -phase.sin()], dim=1)


class HopperSliding(Form):
    """See `hopper_sliding`; for rows without lengths."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.groups = 3 if window == "tail" else 1
        self.steps, be = plan["steps"], plan["be"]
        self.limbs = 1 if spec.precision == "fast" else 2
        made = pack.sliding(spec, window, self.steps, 1,
                            cdiv(spec.K, plan["state_be"]) * plan["state_be"])  # fmt: skip
        self.turns, self.table, self.ramp = (
            t.to(device) for t in (made.turns, made.table, made.ramp)
        )
        self.scale, self.bins = made.scale, made.taps.shape[1] // 2
        self.state_taps = self.pack_with(made.taps.float().to(device), plan["state_limbs"],
                                         self.steps, self.bins, 1, 1)  # fmt: skip
        self.chunks, rows = cdiv(spec.K, be), 2 * self.steps
        taps = chunk_taps(spec, window, self.steps).float().to(device)
        pairs = 16 // dtype.itemsize // 2
        self.packed = described(
            self.pack_with(taps, self.limbs, rows, be, self.chunks, pairs),
            [min(LARGEST_BOX, self.limbs * rows), 2 * be],
            gl.float16,
        )
        options = {"launch_pdl": True} if plan["pdl"] else {}
        self.before = Caller(windows.windows, num_warps=plan["state_warps"], **options)
        if plan.get("registers"):
            options["maxnreg"] = plan["registers"]
        self.caller = Caller(hopper_sliding.slide, num_warps=plan["bm"] // 16, **options)

    @staticmethod
    def fits(spec: Spec, plan: Plan) -> bool:
        """Whether all taps fit the shared memory."""
        limbs = 1 if spec.precision == "fast" else 2
        columns = cdiv(spec.K, plan["be"]) * plan["be"]
        room = bool(8 * limbs * plan["steps"] * columns <= plan["shared"] // plan["per_sm"])
        return room and plan["steps"] <= spec.W

    def arguments(self, x: torch.Tensor, skip: int) -> Any:
        plan, spec = self.plan, self.spec
        _, R, T = rows_and_bytes(x, skip)
        B, chunks, offset = x.shape[0], cdiv(R, self.steps), skip + spec.shift
        q = spec.W // self.steps
        few, size = q <= FEW_BLOCKS, pack.power_of_two(q)
        segments = cdiv(chunks, size if few else q)
        first = (T, x.stride(0), offset, chunks, segments, spec.K, self.scale, spec.W, self.bins,
                 self.shift, plan["state_limbs"], self.groups, False, self.steps, size, few,
                 plan["state_be"], plan["pdl"])  # fmt: skip
        per_row = cdiv(R, plan["bm"])
        second = (per_row, B * per_row, R, T, x.stride(0), offset, chunks, spec.K, spec.features,
                  spec.W, self.steps, self.shift, self.limbs, self.groups == 3, spec.parts,
                  R % plan["bm"] == 0, spec.K % plan["be"] == 0, plan["bm"], plan["be"],
                  self.chunks, plan["cache"], plan["pdl"])  # fmt: skip
        programs = min(B * per_row, self.processors * plan["per_sm"])
        return (
            (B * chunks, 2 * self.groups * spec.K, 2 * self.steps),
            ((B * segments, cdiv(spec.K, plan["state_be"]), self.groups), first),
            ((programs, 1, 1), second),
        )

    def __call__(
        self, x: torch.Tensor, packed: None = None, lengths: None = None, skip: int = 0
    ) -> torch.Tensor:
        del packed
        shape = (x.shape[0], x.shape[1] - skip, self.spec.features)
        out = torch.empty(shape, dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        key = self.key_of(x, lengths, skip)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x, skip)
        (chunks, *widths), (grid, rest), (programs, more) = found
        state, moves = (torch.empty((chunks, n), device=self.device) for n in widths)
        read = (x, self.state_taps, self.turns, state, moves, x)
        self.before(key, grid, read, rest, self.index)
        tensors = (x, out, state, self.table, self.ramp)
        self.caller(key, programs, tensors, more, self.index, (self.packed,))
        return out
