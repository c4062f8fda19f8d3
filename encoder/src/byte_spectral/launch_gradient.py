"""The gradient of the taps behind tensors, on any device that Triton knows."""

from __future__ import annotations

import torch

from byte_spectral import backward, pack
from byte_spectral.caller import Caller, aligned
from byte_spectral.launch import Form, cdiv, rows_and_bytes
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

SUMS, AT_ONCE, SUM_WARPS = 256, 32, 4  # of `backward.total`: numbers a program, splits at once


class Gradient(Form):
    """d loss / d taps from d loss / d features."""

    def __init__(self, spec: Spec, device: torch.device, plan: Plan, count: int) -> None:
        """count: fp16 limbs of the taps, where tensor cores multiply by them."""
        super().__init__(spec, torch.float32, device, plan)
        self.limbs = plan.get("limbs", count)
        self.rows = pack.power_of_two(spec.W, least=max(16, plan["bk"]))
        self.bins = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(backward.gradient, num_warps=plan["warps"])
        self.summing = Caller(backward.total, num_warps=SUM_WARPS)

    @property
    def recomputes(self) -> bool:
        """Whether magnitudes can be differentiated without reading re and im."""
        return self.rows == self.plan["bk"] or self.spec.parts == "reim"

    def __call__(
        self,
        x: torch.Tensor,
        taps: torch.Tensor,
        upstream: torch.Tensor,
        lengths: torch.Tensor | None,
        skip: int,
    ) -> torch.Tensor:
        plan, spec = self.plan, self.spec
        M, R, T = rows_and_bytes(x, skip)
        packed = self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1)
        splits = max(1, min(plan["splits"], cdiv(M, plan["bm"])))
        partial = torch.empty((splits, 2, self.rows, self.bins), device=x.device)
        rest = (M, R, T, x.stride(0), skip + spec.shift, spec.shift, spec.K, spec.features,
                spec.W, self.rows, self.bins, self.shift, self.limbs, spec.parts,
                lengths is not None, plan["bm"], plan["be"], plan["bk"], splits,
                self.limbs > 0, plan["stages"])  # fmt: skip
        grid = (splits, self.bins // plan["be"], self.rows // plan["bk"])
        tensors = (x, packed, upstream, partial, x if lengths is None else lengths)
        key = (self.key_of(x, lengths, skip), upstream.dtype, aligned(upstream))
        self.caller(key, grid, tensors, rest, self.index)
        return self.sum_up(partial)

    def sum_up(self, partial: torch.Tensor) -> torch.Tensor:
        """The gradient (W, 2K) from partial (splits, 2, rows, bins)."""
        spec, splits = self.spec, partial.shape[0]
        found = torch.empty((spec.W, 2 * spec.K), device=partial.device)
        size = (spec.K, 2.0**self.shift / 255, splits, spec.W, self.rows, self.bins, SUMS, AT_ONCE)
        grid = (partial[0].numel() // SUMS, 1, 1)
        self.summing(splits, grid, (partial, found), size, self.index)
        return found
