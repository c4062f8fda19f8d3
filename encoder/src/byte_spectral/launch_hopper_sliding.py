"""The sliding form of sm_90 behind tensors. Needs a Triton with Gluon."""

from __future__ import annotations

from typing import Any

import torch
from triton.experimental.gluon import language as gl

from byte_spectral import hopper_sliding, pack
from byte_spectral.caller import Caller
from byte_spectral.launch import Form, Sliding, cdiv, rows_and_bytes
from byte_spectral.launch_hopper import described, options
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

SHORTEST_CHUNK = 32  # bytes; below, lanes would have no byte of their own


class HopperSliding(Form):
    """Windows "tail" in one kernel; see `hopper_sliding`."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 other: Sliding) -> None:  # fmt: skip
        """other: what encodes rows that have a history."""
        super().__init__(spec, dtype, device, plan)
        self.other = other
        self.steps = spec.W // plan["chunks"]
        made = pack.walking(spec, self.steps, plan["turns"], plan["be"], plan["limbs"])
        self.taps = described(made.taps.to(device), [self.steps, 2 * plan["be"]], gl.float16)
        self.table, self.turn, self.ramp = (
            t.contiguous().to(device) for t in (made.table, made.turn, made.ramp)
        )
        self.scale = made.scale
        self.caller = Caller(hopper_sliding.walk, **options(plan))

    @staticmethod
    def fits(spec: Spec, plan: Plan, window: str) -> bool:
        """Whether the window is whole chunks, its bytes leave in phase, and X is not kept."""
        steps = spec.W // plan["chunks"]
        whole = plan["widest"] >= spec.W and steps * plan["chunks"] == spec.W
        return (
            whole
            and steps >= SHORTEST_CHUNK
            and steps == pack.power_of_two(steps)
            and spec.W % spec.N == 0
            and spec.K % plan["be"] == 0
            and (window, spec.shift) == ("tail", 0)
            and spec.parts != "reim"
        )

    def arguments(self, x: torch.Tensor) -> Any:
        plan, spec = self.plan, self.spec
        _, T, _ = rows_and_bytes(x, 0)
        rest = (T, x.stride(0), self.scale, spec.K, plan["chunks"], self.steps, plan["turns"],
                plan["be"], self.shift, plan["limbs"], plan["byte_limbs"], spec.parts,
                T % spec.W == 0, plan["pdl"])  # fmt: skip
        return (x.shape[0] * cdiv(T, spec.W), spec.K // plan["be"], 1), rest

    def __call__(
        self,
        x: torch.Tensor,
        packed: None = None,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
    ) -> torch.Tensor:
        if skip or lengths is not None:
            return self.other(x, packed, lengths, skip)
        out = torch.empty((*x.shape, self.spec.features), dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        key = self.key_of(x, None, 0)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x)
        grid, rest = found
        tensors = (x, out, self.table, self.turn, self.ramp)
        self.caller(key, grid, tensors, rest, self.index, (self.taps,))
        return out
