"""Kernels behind tensors: a form holds the plan and the constants of one transform.

A form packs taps once and encodes any number of batches with them. Everything that depends on
the shape of a batch is worked out once a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from byte_spectral import kernels, pack
from byte_spectral.caller import Caller, Launch, aligned
from byte_spectral.plans import Plan
from byte_spectral.records import Dense
from byte_spectral.spec import Spec

MOST_ROWS = (1 << 31) - (1 << 20)  # kernels count past the last row by a tile or a few
PACKED = 1024  # numbers of the taps that a program packs


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def rows_and_bytes(x: torch.Tensor, skip: int) -> tuple[int, int, int]:
    """M, output rows a row of bytes, bytes a row; the first `skip` bytes of a row are history."""
    B, T = x.shape
    if B * T >= MOST_ROWS:
        raise ValueError(f"{B} x {T} bytes in one call; encode at most {MOST_ROWS - 1} at a time")
    return B * (T - skip), T - skip, T


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
        properties = torch.cuda.get_device_properties
        self.processors = properties(device).multi_processor_count if device.type == "cuda" else 2
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

    def dense(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int,
              layer: Iterable[str] = (), *, bins: int, **more: Any) -> Dense:  # fmt: skip
        """The record of a launch, with the tiles of the plan."""
        plan, spec = self.plan, self.spec
        M, R, _ = rows_and_bytes(x, skip)
        names = ("bm", "be", "bd", "warps", "stages", "cache")
        given = {name: plan[name] for name in names if name in plan}
        given |= {"bk": min(self.rows, plan.get("bk", self.rows)), "early": int(plan.get("pdl", 0))}
        whole = R % plan["bm"] == 0 and lengths is None and skip == 0
        return Dense(
            W=spec.W, K=spec.K, parts=spec.parts, shift=spec.shift, rows=self.rows, bins=bins,
            limbs=self.limbs, scale=self.shift, factor=1 / self.factor, width=self.width,
            bias="bias" in layer, table="table" in layer, gated=self.gated,
            lengths=lengths is not None, even_rows=M % plan["bm"] == 0,
            regular=whole and spec.shift == 0, **{"even": bins == spec.K} | given | more,
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
        record = self.dense(x, lengths, skip, layer, bins=self.chunk)
        return self.caller.launch(
            (tiles, shares, 1), M=M, R=R, length=T, stride_x=x.stride(0), skip=skip, S=record
        )
