"""The kernels behind tensors: a form holds the plan and the constants of one transform.

A form packs taps once and encodes any number of batches with them. Everything that depends on
the shape of a batch is worked out once a shape.
"""

from __future__ import annotations

from typing import Any

import torch

from byte_spectral import kernels, pack, sliding, windows
from byte_spectral.caller import Caller, aligned
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

MOST_ROWS = (1 << 31) - (1 << 20)  # kernels count past the last row by a tile or a few
FEW_BLOCKS = 6  # of a window: so many are added one by one


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def rows_and_bytes(x: torch.Tensor, skip: int) -> tuple[int, int, int]:
    """M, output rows a row of bytes, bytes a row; the first `skip` bytes of a row are history."""
    B, T = x.shape
    if B * T >= MOST_ROWS:
        raise ValueError(f"{B} x {T} bytes in one call; encode at most {MOST_ROWS - 1} at a time")
    return B * (T - skip), T - skip, T


def sure_of_taps(spec: Spec) -> None:
    """Kernels count taps in 32 bits, those that fill up a window or a tile of bins too."""
    if 2 * pack.power_of_two(spec.W) * spec.K >= MOST_ROWS:
        raise ValueError(
            f"W = {spec.W} and K = {spec.K} are more taps than a kernel counts; take fewer bins"
        )


class Form:
    """One transform on one device in one output type."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan) -> None:
        sure_of_taps(spec)
        self.spec = spec
        self.dtype = dtype
        self.device = device
        self.index = device.index if device.type == "cuda" else None
        self.plan = plan
        self.shift = pack.shift_of(spec.W)
        self.shapes: dict[Any, Any] = {}
        cuda = device.type == "cuda"
        self.processors = (
            torch.cuda.get_device_properties(device).multi_processor_count if cuda else 2
        )
        self.packing = Caller(kernels.pack, num_warps=4)

    def key_of(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Any:
        ends = None if lengths is None else aligned(lengths)
        return x.shape, x.stride(0), skip, ends, aligned(x)

    def pack_with(
        self,
        taps: torch.Tensor,
        count: int,
        rows: int,
        width: int,
        chunks: int,
        pairs: int,
        factor: float = 1.0,
    ) -> torch.Tensor:
        """`pack.arrange` in one launch; taps fp32 (W, 2K) on the device."""
        shape = (chunks * max(count, 1) * rows, 2 * width)
        kind = torch.float16 if count else torch.float32
        packed = torch.empty(shape, dtype=kind, device=taps.device)
        total = chunks * 2 * rows * width
        rest = (taps.shape[1] // 2, factor * 2.0**self.shift / 255, total, taps.shape[0], rows,
                width, pairs, count, 1024)  # fmt: skip
        grid = (cdiv(total, 1024), 1, 1)
        self.packing((taps.shape, aligned(taps), factor), grid, (taps, packed), rest, self.index)
        return packed


class Dot(Form):
    """Any device that Triton knows: frames times taps, tile by tile."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.factor = pack.headroom(spec, window)
        self.limbs = plan.get("limbs", 1 if spec.precision == "fast" else 2)
        self.rows = pack.power_of_two(spec.W)
        self.bins = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(kernels.encode, num_warps=plan["warps"])

    def pack(self, taps: torch.Tensor) -> torch.Tensor:
        return self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1, self.factor)

    def empty(self, x: torch.Tensor, skip: int) -> torch.Tensor:
        shape = (x.shape[0], x.shape[1] - skip, self.spec.features)
        return torch.empty(shape, dtype=self.dtype, device=self.device)

    def arguments(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Any:
        plan, spec = self.plan, self.spec
        M, R, T = rows_and_bytes(x, skip)
        tiles = cdiv(M, plan["bm"])
        shares = min(self.bins // plan["be"], max(1, 2 * self.processors // tiles))
        even = M % plan["bm"] == 0 and spec.K % plan["be"] == 0
        rest = (M, R, T, x.stride(0), skip + spec.shift, spec.shift, spec.K, spec.features,
                1 / self.factor, spec.W, self.rows, self.bins, self.shift, self.limbs, spec.parts,
                lengths is not None, even, plan["bm"], plan["be"], min(self.rows, plan["bk"]),
                plan["stages"])  # fmt: skip
        return (tiles, shares, 1), rest

    def __call__(
        self,
        x: torch.Tensor,
        packed: torch.Tensor,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
    ) -> torch.Tensor:
        out = self.empty(x, skip)
        if out.numel():
            self.into(out, x, packed, lengths, skip)
        return out

    def into(
        self,
        out: torch.Tensor,
        x: torch.Tensor,
        packed: torch.Tensor,
        lengths: torch.Tensor | None,
        skip: int,
    ) -> None:
        key = self.key_of(x, lengths, skip)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x, lengths, skip)
        grid, rest = found
        tensors = (x, packed, out, x if lengths is None else lengths)
        self.caller(key, grid, tensors, rest, self.index)


class Sliding(Form):
    """Windows "tail" and "rect" at a cost that does not depend on their length."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.tail = window == "tail"
        self.steps = min(plan["steps"], pack.power_of_two(spec.W + 1) // 2)  # at most W
        self.limbs = plan["limbs"]
        self.shift = pack.shift_of(spec.W)
        be = plan["state_be"]
        bins = cdiv(spec.K, be) * be
        turns = min(plan["turns"], self.steps)
        made = pack.sliding(spec, window, self.steps, turns, bins)
        self.turns, self.table, self.ramp = (
            t.to(device) for t in (made.turns, made.table, made.ramp)
        )
        self.scale, self.stride = made.scale, turns
        self.bins = made.taps.shape[1] // 2
        # taps of a block stand in the order of their lags, like those of a window
        self.packed = self.pack_with(
            made.taps.float().to(device), self.limbs, self.steps, self.bins, 1, 1
        )
        self.pdl = plan.get("pdl", False)
        options = {"launch_pdl": True} if self.pdl else {}
        self.before = Caller(windows.windows, num_warps=plan["state_warps"], **options)
        self.caller = Caller(sliding.slide, num_warps=plan["warps"], **options)

    def arguments(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Any:
        plan, spec = self.plan, self.spec
        _, R, T = rows_and_bytes(x, skip)
        B, chunks, offset = x.shape[0], cdiv(R, self.steps), skip + spec.shift
        q, be = spec.W // self.steps, plan["be"]
        few = q <= FEW_BLOCKS
        size = pack.power_of_two(q)
        segments = cdiv(chunks, size if few else q)
        groups = 3 if self.tail else 1
        first = (T, x.stride(0), offset, chunks, segments, spec.K, self.scale, spec.W, self.bins,
                 self.shift, self.limbs, groups, lengths is not None, self.steps, size, few,
                 plan["state_be"], self.pdl)  # fmt: skip
        sign = 1 if spec.W % spec.N == 0 else 2 if 2 * spec.W % spec.N == 0 else 0
        even = R % self.steps == 0 and spec.K % be == 0
        second = (R, T, offset, spec.shift, chunks, spec.K, spec.features, spec.parts, self.tail,
                  lengths is not None, sign, even, self.steps, be, self.stride,
                  self.device.type == "cuda", self.pdl)  # fmt: skip
        grid = (B * segments, cdiv(spec.K, plan["state_be"]), groups)
        return (
            (B * chunks, 2 * groups * spec.K, 2 * self.steps),
            (grid, first),
            ((B * chunks, cdiv(spec.K, be), 1), second),
        )

    def __call__(
        self,
        x: torch.Tensor,
        packed: None = None,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
    ) -> torch.Tensor:
        del packed
        shape = (x.shape[0], x.shape[1] - skip, self.spec.features)
        out = torch.empty(shape, dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        key = self.key_of(x, lengths, skip)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x, lengths, skip)
        size, (grid, rest), (steps, more) = found
        chunks, *widths = size
        state, moves = (torch.empty((chunks, n), device=self.device) for n in widths)
        ends = x if lengths is None else lengths
        self.before(key, grid, (x, self.packed, self.turns, state, moves, ends), rest, self.index)
        tensors = (state, moves, self.table, self.ramp, out, ends)
        self.caller(key, steps, tensors, more, self.index)
        return out


class Linear(Form):
    """Features times a matrix on any device that Triton knows; `dtype` is that of the weight."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 width: int) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.width = width
        self.limbs = plan.get("limbs", 1 if spec.precision == "fast" else 2)
        self.rows = pack.power_of_two(spec.W)
        self.bins = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(kernels.project, num_warps=plan["warps"])

    def pack(self, taps: torch.Tensor) -> torch.Tensor:
        return self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1)

    def __call__(
        self,
        x: torch.Tensor,
        packed: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        lengths: torch.Tensor | None,
    ) -> torch.Tensor:
        plan, spec = self.plan, self.spec
        out = torch.empty((*x.shape, self.width), dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        M, R, T = rows_and_bytes(x, 0)
        rest = (M, R, T, x.stride(0), spec.shift, spec.shift, spec.K, self.width,
                weight.stride(0), spec.W, self.rows, self.bins, self.shift, self.limbs, spec.parts,
                lengths is not None, bias is not None, plan["bm"], plan["be"],
                min(self.rows, plan["bk"]), plan["bd"], plan["stages"])  # fmt: skip
        grid = (cdiv(M, plan["bm"]), cdiv(self.width, plan["bd"]), 1)
        tensors = (x, packed, weight, x if bias is None else bias, out,
                   x if lengths is None else lengths)  # fmt: skip
        given = None if bias is None else (bias.dtype, aligned(bias))
        key = (self.key_of(x, lengths, 0), aligned(weight), weight.stride(0), given)
        self.caller(key, grid, tensors, rest, self.index)
        return out
