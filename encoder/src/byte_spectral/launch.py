"""Kernels behind tensors: a form holds the plan and the constants of one transform.

A form packs taps once and encodes any number of batches with them. Everything that depends on
the shape of a batch is worked out once a shape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from byte_spectral import backward, kernels, pack
from byte_spectral.caller import Caller, Launch, aligned
from byte_spectral.plans import Plan
from byte_spectral.records import Dense
from byte_spectral.spec import Spec

MOST_ROWS = (1 << 31) - (1 << 20)  # kernels count past the last row by a tile or a few
PACKED = 1024  # numbers of the taps that a program packs
SUMS, AT_ONCE, SUM_WARPS = 256, 32, 4  # of `backward.total`: numbers a program, splits at once


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def rows_and_bytes(x: torch.Tensor, skip: int) -> tuple[int, int, int]:
    """M, output rows a row of bytes, bytes a row; the first `skip` bytes of a row are history."""
    B, T = x.shape
    if B * T >= MOST_ROWS:
        raise ValueError(f"{B} x {T} bytes in one call; encode at most {MOST_ROWS - 1} at a time")
    return B * (T - skip), T - skip, T


def processors_of(device: torch.device) -> int:
    if device.type != "cuda":
        return 2
    return int(torch.cuda.get_device_properties(device).multi_processor_count)


def options(plan: Plan) -> dict[str, Any]:
    """The options of a launch."""
    given: dict[str, Any] = {"num_warps": plan["warps"]}
    if plan.get("pdl"):
        given["launch_pdl"] = True
    if "registers" in plan:
        given["maxnreg"] = plan["registers"]
    return given


class Form:
    """One transform on one device in one output type, by one kernel.

    Attributes:
        width: columns of the linear layer that follows, or 0.
        gated: the layer's output is a gate of the table's rows, rather than added to them.
        limbs: fp16 summands of a tap; 0 where taps are fp32.
        rows: taps of a frame, the window filled up to a power of two.
        factor: of the taps, see `pack.headroom`.
        chunk, chunks, pairs: bins of a packed chunk, their number, and their order: see `pack`.
        constants: operands by name beside those of a call.
        shapes: launches by everything that they depend on.
        launch: the record of a launch for bytes, lengths, history and a layer's tensors.
    """

    caller: Caller
    launch: Callable[..., Launch]
    factor = 1.0
    chunk, chunks, pairs = 0, 1, 1

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 width: int = 0, gated: bool = False) -> None:  # fmt: skip
        if 2 * pack.power_of_two(spec.W) * spec.K >= MOST_ROWS:  # counted in 32 bits
            raise ValueError(
                f"W = {spec.W} and K = {spec.K} are more taps than a kernel counts; take fewer bins"
            )
        self.spec = spec
        self.dtype = dtype
        self.index = device.index if device.type == "cuda" else None
        self.plan = plan
        self.width = width
        self.gated = gated
        self.shift = pack.shift_of(spec.W)
        self.limbs = plan.get("limbs", 1 if spec.precision == "fast" else 2)
        self.rows = pack.power_of_two(spec.W)
        self.constants: dict[str, Any] = {}
        self.shapes: dict[Any, Launch] = {}
        self.processors = processors_of(device)
        self.packing = Caller(kernels.pack, num_warps=4)

    def matrix(self, weight: torch.Tensor) -> Any:
        """The contiguous weight as the kernel takes it."""
        return weight

    def __call__(
        self,
        x: torch.Tensor,
        packed: Any = None,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
        **layer: torch.Tensor | None,
    ) -> torch.Tensor:
        """Features (B, T - skip, E), or those behind the layer: its weight, bias and table."""
        shape = (x.shape[0], x.shape[1] - skip, self.width or self.spec.features)
        out = torch.empty(shape, dtype=self.dtype, device=x.device)
        if out.numel():
            given: dict[str, Any] = {n: each for n, each in layer.items() if each is not None}
            kinds = [(name, each.dtype, aligned(each)) for name, each in given.items()]
            key = self.key_of(x, lengths, skip, *kinds)
            launch = self.shapes.get(key)
            if launch is None:
                launch = self.shapes[key] = self.launch(x, lengths, skip, given)
            if self.width:
                given["weight"] = self.matrix(given["weight"])
            if lengths is not None:
                given["lengths"] = lengths
            operands = dict.fromkeys(launch.operands, x)  # for those that are not read
            operands |= {"taps": packed, "out": out, **given, **self.constants}
            self.caller(key, launch, self.index, **operands)
        return out

    def dense(self, *, bins: int, layer: dict[str, Any], **more: Any) -> Dense:
        """The record of a launch, with the tiles of the plan."""
        plan, spec = self.plan, self.spec
        names = ("bm", "be", "bd", "warps", "stages", "cache", "splits")
        given = {name: plan[name] for name in names if name in plan}
        given |= {"bk": min(self.rows, plan.get("bk", self.rows)), "early": int(plan.get("pdl", 0))}
        return Dense(
            W=spec.W, K=spec.K, parts=spec.parts, shift=spec.shift, rows=self.rows, bins=bins,
            limbs=self.limbs, scale=self.shift, factor=1 / self.factor, width=self.width,
            bias="bias" in layer, table="table" in layer, gated=self.gated,
            **{"even": bins == spec.K} | given | more,
        )  # fmt: skip

    def key_of(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int, *more: Any) -> Any:
        ends = None if lengths is None else aligned(lengths)
        return x.shape, x.stride(0), skip, ends, aligned(x), *more

    def pack(self, taps: torch.Tensor) -> Any:
        """Taps, fp32 (W, 2K) on the device, in the kernel's form, by one launch."""
        total = self.chunks * 2 * self.rows * self.chunk
        shape = (self.chunks * max(self.limbs, 1) * self.rows, 2 * self.chunk)
        kind = torch.float16 if self.limbs else torch.float32
        packed = torch.empty(shape, dtype=kind, device=taps.device)
        launch = self.packing.launch(
            (cdiv(total, PACKED), 1, 1), K=self.spec.K, scale=self.factor * 2.0**self.shift / 255,
            total=total, W=self.spec.W, WP=self.rows, WIDTH=self.chunk, PAIRS=self.pairs,
            LIMBS=self.limbs, BLOCK=PACKED,
        )  # fmt: skip
        self.packing(aligned(taps), launch, self.index, taps=taps, packed=packed)
        return packed


class Dot(Form):
    """Any device that Triton knows: frames times taps, tile by tile, and a layer behind them."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None, *layer: Any) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan, *layer)
        if not self.width:
            self.factor = pack.headroom(spec, window)
        self.chunk = cdiv(spec.K, plan["be"]) * plan["be"]
        kernel = kernels.project if self.width else kernels.encode
        self.caller = Caller(kernel, num_warps=plan["warps"])

    def launch(
        self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int, layer: dict[str, Any]
    ) -> Launch:
        plan = self.plan
        M, R, T = rows_and_bytes(x, skip)
        tiles = cdiv(M, plan["bm"])
        if self.width:
            shares = cdiv(self.width, plan["bd"])
        else:
            shares = min(self.chunk // plan["be"], max(1, 2 * self.processors // tiles))
        record = self.dense(bins=self.chunk, layer=layer, lengths=lengths is not None,
                            even_rows=M % plan["bm"] == 0)  # fmt: skip
        return self.caller.launch(
            (tiles, shares, 1), M=M, R=R, length=T, stride_x=x.stride(0), skip=skip, S=record
        )


class TableGradient:
    """d loss / d table (256, D) from d loss / d what was looked up in it."""

    def __init__(self, device: torch.device, plan: Plan) -> None:
        self.plan = plan
        self.index = device.index if device.type == "cuda" else None
        self.programs = processors_of(device)
        self.caller = Caller(backward.by_byte, num_warps=plan["warps"])

    def __call__(self, x: torch.Tensor, upstream: torch.Tensor) -> torch.Tensor:
        (M, T, _), D = rows_and_bytes(x, 0), upstream.shape[1]
        rows, columns = self.plan["bm"], self.plan["bd"]
        tiles = cdiv(D, columns)
        splits = max(1, min(cdiv(M, rows), self.programs // tiles))
        partial = torch.empty((splits, 256, D), device=x.device)
        launch = self.caller.launch(
            (splits, tiles, 1), M=M, T=T, stride_x=x.stride(0), D=D, ROWS=rows, COLUMNS=columns,
            HALF=self.plan["limbs"] > 0,
        )  # fmt: skip
        key = (x.shape, x.stride(0), aligned(x), D, upstream.dtype, aligned(upstream))
        self.caller(key, launch, self.index, x=x, upstream=upstream, partial=partial)
        return partial.sum(0).to(upstream.dtype)


class Gradient(Form):
    """d loss / d taps from d loss / d features."""

    def __init__(self, spec: Spec, device: torch.device, plan: Plan) -> None:
        super().__init__(spec, torch.float32, device, plan)
        self.rows = pack.power_of_two(spec.W, least=max(16, plan["bk"]))
        self.chunk = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(backward.gradient, num_warps=plan["warps"])
        self.summing = Caller(backward.total, num_warps=SUM_WARPS)

    @property
    def recomputes(self) -> bool:
        """Magnitudes can be differentiated without reading re and im."""
        return self.rows == self.plan["bk"] or self.spec.parts == "reim"

    def gradient(
        self,
        x: torch.Tensor,
        taps: torch.Tensor,
        upstream: torch.Tensor,
        lengths: torch.Tensor | None,
    ) -> torch.Tensor:
        plan = self.plan
        M, R, T = rows_and_bytes(x, 0)
        splits = max(1, min(plan["splits"], cdiv(M, plan["bm"])))
        partial = torch.empty((splits, 2, self.rows, self.chunk), device=x.device)
        record = self.dense(bins=self.chunk, layer={}, lengths=lengths is not None)
        launch = self.caller.launch(
            (splits, self.chunk // plan["be"], self.rows // plan["bk"]), M=M, R=R, length=T,
            stride_x=x.stride(0), skip=0, S=dataclasses.replace(record, splits=splits),
        )  # fmt: skip
        key = self.key_of(x, lengths, 0, upstream.dtype, aligned(upstream))
        self.caller(
            key, launch, self.index, x=x, taps=self.pack(taps), upstream=upstream, partial=partial,
            lengths=x if lengths is None else lengths,
        )  # fmt: skip
        return self.sum_up(partial)

    def sum_up(self, partial: torch.Tensor) -> torch.Tensor:
        """The gradient (W, 2K) from partial (splits, 2, rows, bins)."""
        spec, splits = self.spec, partial.shape[0]
        found = torch.empty((spec.W, 2 * spec.K), device=partial.device)
        launch = self.summing.launch(
            (partial[0].numel() // SUMS, 1, 1), K=spec.K, scale=2.0**self.shift / 255,
            SPLITS=splits, W=spec.W, WP=self.rows, KP=self.chunk, BLOCK=SUMS, AT_ONCE=AT_ONCE,
        )  # fmt: skip
        self.summing(splits, launch, self.index, partial=partial, found=found)
        return found
