"""The gradient of the taps on sm_90 behind tensors. Needs a Triton with Gluon."""

from __future__ import annotations

import torch
from triton.experimental.gluon import language as gl

from byte_spectral import hopper_gradient
from byte_spectral.caller import Caller, aligned
from byte_spectral.launch import cdiv, rows_and_bytes
from byte_spectral.launch_gradient import Gradient
from byte_spectral.launch_hopper import described, options
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

PACKED = 256  # numbers of the taps that a program packs


class HopperGradient(Gradient):
    """Bins are the rows of the products; see `hopper_gradient`."""

    def __init__(self, spec: Spec, device: torch.device, plan: Plan, count: int) -> None:
        super().__init__(spec, device, plan, count)
        early = {"launch_pdl": True} if plan["pdl"] else {}
        self.packing = Caller(hopper_gradient.pack, num_warps=4, **early)
        self.caller = Caller(hopper_gradient.gradient, **options(plan))

    @staticmethod
    def fits(spec: Spec, plan: Plan) -> bool:
        """Whether the frame of a window fits, and X is what the kernel makes it."""
        return plan["widest"] >= spec.W and spec.parts != "reim" and spec.shift == 0

    def __call__(
        self,
        x: torch.Tensor,
        taps: torch.Tensor,
        upstream: torch.Tensor,
        lengths: None,
        skip: int,
    ) -> torch.Tensor:
        del lengths, skip  # None and 0: `choose.gradient` sees to it
        plan, spec = self.plan, self.spec
        M, T, _ = rows_and_bytes(x, 0)
        bm, be, pdl = plan["bm"], plan["be"], plan["pdl"]
        size = 2 * self.rows * self.bins
        packed = torch.empty((self.limbs * size // self.rows, self.rows), dtype=torch.float16,
                             device=x.device)  # fmt: skip
        rest = (spec.K, 2.0**self.shift / 255, spec.W, self.rows, be, self.limbs, PACKED, pdl)
        grid = (size // PACKED, 1, 1)
        self.packing((taps.shape, aligned(taps)), grid, (taps, packed), rest, self.index)
        splits = max(1, min(plan["splits"], cdiv(M, bm)))
        partial = torch.empty((splits, 2, self.rows, self.bins), device=x.device)
        regular = T % bm == 0 and spec.K % be == 0
        more = (M, T, x.stride(0), spec.K, splits, self.rows, self.bins, self.shift, self.limbs,
                plan["out_limbs"], spec.parts, regular, bm, plan["defer"], plan["ahead"],
                pdl)  # fmt: skip
        key = (self.key_of(x, None, 0), upstream.dtype, aligned(upstream))
        matrix = described(packed, [2 * be, self.rows], gl.float16)
        self.caller(key, (splits, self.bins // be, 1), (x, upstream, partial), more, self.index,
                    (matrix,))  # fmt: skip
        return self.sum_up(partial)
