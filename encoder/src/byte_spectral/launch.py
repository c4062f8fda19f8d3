"""The portable kernels behind tensors: a form holds the plan and the constants of one transform.

A form packs taps once and encodes any number of batches with them. Everything that depends on
the shape of a batch is worked out once a shape.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from byte_spectral import backward, kernels, pack, walk
from byte_spectral.caller import Caller, Launch, aligned
from byte_spectral.plans import Plan
from byte_spectral.records import Dense, Walk
from byte_spectral.spec import Spec

MOST_ROWS = (1 << 31) - (1 << 20)  # kernels count past the last row by a tile or a few
LONGEST = 64  # positions of a chunk
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


def sure_of_taps(spec: Spec) -> None:
    """Kernels count taps in 32 bits, those that fill up a window or a tile of bins too."""
    if 2 * pack.power_of_two(spec.W) * spec.K >= MOST_ROWS:
        raise ValueError(
            f"W = {spec.W} and K = {spec.K} are more taps than a kernel counts; take fewer bins"
        )


def of_bias(bias: torch.Tensor | None) -> dict[str, bool]:
    """Its part of a record: one row (D,), or one for each byte (256, D)."""
    return {"bias": bias is not None, "table": bias is not None and bias.dim() == 2}


class Form:
    """One transform on one device in one output type.

    Attributes:
        limbs: fp16 summands of a tap; 0 where taps are fp32.
        rows: taps of a frame, the window filled up to a power of two.
        shapes: launches by everything that they depend on.
        caller, launch: of the kernel, and the record of a launch.
    """

    caller: Caller
    launch: Callable[..., Launch]

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan) -> None:
        sure_of_taps(spec)
        self.spec = spec
        self.dtype = dtype
        self.device = device
        self.index = device.index if device.type == "cuda" else None
        self.plan = plan
        self.shift = pack.shift_of(spec.W)
        self.limbs = plan.get("limbs", 1 if spec.precision == "fast" else 2)
        self.rows = pack.power_of_two(spec.W)
        self.shapes: dict[Any, Any] = {}
        self.processors = processors_of(device)
        self.packing = Caller(kernels.pack, num_warps=4)

    def dense(self, *, bins: int, **more: Any) -> Dense:
        """The record of a launch, with the tiles of the plan."""
        plan, spec = self.plan, self.spec
        names = ("bm", "be", "warps", "stages", "cache", "splits", "defer", "ahead", "out_limbs")
        given = {name: plan[name] for name in names if name in plan}
        given |= {"bk": min(self.rows, plan.get("bk", self.rows)), "early": bool(plan.get("pdl"))}
        return Dense(
            W=spec.W, K=spec.K, parts=spec.parts, shift=spec.shift, rows=self.rows, bins=bins,
            limbs=self.limbs, scale=self.shift, even=bins == spec.K, **given | more,
        )  # fmt: skip

    def key_of(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Any:
        ends = None if lengths is None else aligned(lengths)
        return x.shape, x.stride(0), skip, ends, aligned(x)

    def once(self, key: Any, make: Callable[..., Any], *args: Any) -> Any:
        """The result of `make`, computed once for each key; the key determines the arguments."""
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = make(*args)
        return found

    def output(self, x: torch.Tensor, width: int, skip: int = 0) -> torch.Tensor:
        shape = (x.shape[0], x.shape[1] - skip, width)
        return torch.empty(shape, dtype=self.dtype, device=self.device)

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
        key = (taps.shape, aligned(taps), count, rows, width, chunks, pairs, factor)
        launch = self.packing.launch(
            (cdiv(total, PACKED), 1, 1), K=taps.shape[1] // 2, scale=factor * 2.0**self.shift / 255,
            total=total, W=taps.shape[0], WP=rows, WIDTH=width, PAIRS=pairs, LIMBS=count,
            BLOCK=PACKED,
        )  # fmt: skip
        self.packing(key, launch, self.index, taps=taps, packed=packed)
        return packed


class Encoding(Form):
    """Features of bytes, by a kernel whose operands are x, taps, out, lengths and `constants`.

    Attributes:
        scratch: numbers that each program may write besides, an operand where it is not 0.
    """

    scratch = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.constants: dict[str, Any] = {}

    def __call__(
        self,
        x: torch.Tensor,
        packed: Any = None,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
    ) -> torch.Tensor:
        out = self.output(x, self.spec.features, skip)
        if out.numel():
            key = self.key_of(x, lengths, skip)
            launch = self.once(key, self.launch, x, lengths, skip)
            ends = x if lengths is None else lengths
            given = {"x": x, "taps": packed, "out": out, "lengths": ends, **self.constants}
            if self.scratch:
                size = launch.grid[0] * launch.grid[1] * self.scratch
                given["scratch"] = torch.empty(size, device=self.device)
            self.caller(key, launch, self.index, **given)
        return out


class Dot(Encoding):
    """Any device that Triton knows: frames times taps, tile by tile."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.factor = pack.headroom(spec, window)
        self.bins = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(kernels.encode, num_warps=plan["warps"])

    def pack(self, taps: torch.Tensor) -> torch.Tensor:
        return self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1, self.factor)

    def launch(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Launch:
        plan = self.plan
        M, R, T = rows_and_bytes(x, skip)
        tiles = cdiv(M, plan["bm"])
        shares = min(self.bins // plan["be"], max(1, 2 * self.processors // tiles))
        record = self.dense(
            bins=self.bins, factor=1 / self.factor, lengths=lengths is not None,
            even_rows=M % plan["bm"] == 0,
        )  # fmt: skip
        return self.caller.launch(
            (tiles, shares, 1), M=M, R=R, length=T, stride_x=x.stride(0), skip=skip, S=record
        )


class Walking(Encoding):
    """Windows "tail" and "rect" at a cost that does not depend on their length; see `walk`."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        # a long window in short chunks is many factors one after the other, whose errors add up;
        # a short one is better several chunks
        steps = max(plan["steps"], min(LONGEST, pack.power_of_two(cdiv(spec.W, plan["chunks"]))))
        if 2 * steps > spec.W:
            steps = max(16, min(steps // 2, pack.power_of_two(spec.W + 1) // 2))
        self.record = Walk(
            W=spec.W, K=spec.K, parts=spec.parts, shift=spec.shift, tail=window == "tail",
            sign=1 if spec.W % spec.N == 0 else 2 if 2 * spec.W % spec.N == 0 else 0,
            steps=steps, rows=plan["chunks"], bins=plan["be"],
            padded=cdiv(spec.K, plan["be"]) * plan["be"], turns=min(plan["turns"], steps),
            limbs=self.limbs, byte_limbs=plan.get("byte_limbs", 0), scale=self.shift,
            gain=pack.step_gain(spec, window), lengths=False, even=False,
            early=int(plan.get("pdl", 0)), fast_root=device.type == "cuda",
        )  # fmt: skip
        self.make_tables()
        options = {"launch_pdl": True} if self.record.early else {}
        self.caller = Caller(self.kernel, num_warps=plan["warps"], **options)

    @property
    def kernel(self) -> Any:
        return walk.walk

    def make_tables(self) -> None:
        taps, *tables = pack.walking(self.record, self.spec.N)
        self.constants = dict(zip(("turns", "table", "ramp"), self.on_device(tables), strict=True))
        # taps of a block stand in the order of their lags, like those of a window
        bins = taps.shape[1] // 2
        self.constants["taps"] = self.pack_with(
            taps.float().to(self.device), self.limbs, self.record.steps, bins, 1, 1
        )
        self.scratch = 2 * self.record.groups * self.record.rows * self.record.bins

    def on_device(self, tables: list[torch.Tensor]) -> list[torch.Tensor]:
        return [table.contiguous().to(self.device) for table in tables]

    def launch(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Launch:
        record = self.record
        _, R, T = rows_and_bytes(x, skip)
        segment, tiles = record.rows * record.steps, record.padded // record.bins
        even = R % segment == 0 and record.padded == record.K
        return self.caller.launch(
            (x.shape[0] * cdiv(R, segment), tiles, 1), length=T, R=R, stride_x=x.stride(0),
            skip=skip, S=dataclasses.replace(record, lengths=lengths is not None, even=even),
        )  # fmt: skip


class Projecting(Form):
    """Features of bytes times a matrix (width, K); otherwise as `Encoding`."""

    width: int

    def __call__(
        self,
        x: torch.Tensor,
        packed: Any,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        lengths: torch.Tensor | None,
    ) -> torch.Tensor:
        out = self.output(x, self.width)
        if out.numel():
            kind = None if bias is None else (bias.dtype, aligned(bias), bias.dim())
            key = (self.key_of(x, lengths, 0), aligned(weight), kind)
            launch = self.once(key, self.launch, x, lengths, bias)
            self.caller(
                key, launch, self.index, x=x, taps=packed, weight=self.matrix(weight), out=out,
                bias=x if bias is None else bias, lengths=x if lengths is None else lengths,
            )  # fmt: skip
        return out

    def matrix(self, weight: torch.Tensor) -> Any:
        """The contiguous weight as the kernel takes it."""
        return weight


class Linear(Projecting):
    """Features times a matrix on any device that Triton knows; `dtype` is that of the weight."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 width: int) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.width = width
        self.bins = cdiv(spec.K, plan["be"]) * plan["be"]
        self.caller = Caller(kernels.project, num_warps=plan["warps"])

    def pack(self, taps: torch.Tensor) -> torch.Tensor:
        return self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1)

    def launch(
        self, x: torch.Tensor, lengths: torch.Tensor | None, bias: torch.Tensor | None
    ) -> Launch:
        plan = self.plan
        M, R, T = rows_and_bytes(x, 0)
        record = self.dense(bins=self.bins, lengths=lengths is not None, width=self.width,
                             bd=plan["bd"], **of_bias(bias))  # fmt: skip
        return self.caller.launch(
            (cdiv(M, plan["bm"]), cdiv(self.width, plan["bd"]), 1), M=M, R=R, length=T,
            stride_x=x.stride(0), stride_w=self.spec.K, S=record,
        )  # fmt: skip


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
    """d loss / d taps from d loss / d features, on any device that Triton knows."""

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
        """Magnitudes can be differentiated without reading re and im."""
        return self.rows == self.plan["bk"] or self.spec.parts == "reim"

    def splits(self, M: int) -> int:
        """Partial sums of M rows."""
        return max(1, min(self.plan["splits"], cdiv(M, self.plan["bm"])))

    def __call__(
        self,
        x: torch.Tensor,
        taps: torch.Tensor,
        upstream: torch.Tensor,
        lengths: torch.Tensor | None,
        skip: int,
    ) -> torch.Tensor:
        plan = self.plan
        M, R, T = rows_and_bytes(x, skip)
        packed = self.pack_with(taps, self.limbs, self.rows, self.bins, 1, 1)
        splits = self.splits(M)
        partial = torch.empty((splits, 2, self.rows, self.bins), device=x.device)
        record = self.dense(bins=self.bins, lengths=lengths is not None, splits=splits)
        launch = self.caller.launch(
            (splits, self.bins // plan["be"], self.rows // plan["bk"]), M=M, R=R, length=T,
            stride_x=x.stride(0), skip=skip, S=record,
        )  # fmt: skip
        key = (self.key_of(x, lengths, skip), upstream.dtype, aligned(upstream))
        self.caller(
            key, launch, self.index, x=x, taps=packed, upstream=upstream, partial=partial,
            lengths=x if lengths is None else lengths,
        )  # fmt: skip
        return self.sum_up(partial)

    def sum_up(self, partial: torch.Tensor) -> torch.Tensor:
        """The gradient (W, 2K) from partial (splits, 2, rows, bins)."""
        spec, splits = self.spec, partial.shape[0]
        found = torch.empty((spec.W, 2 * spec.K), device=partial.device)
        launch = self.summing.launch(
            (partial[0].numel() // SUMS, 1, 1), K=spec.K, scale=2.0**self.shift / 255,
            SPLITS=splits, W=spec.W, WP=self.rows, KP=self.bins, BLOCK=SUMS, AT_ONCE=AT_ONCE,
        )  # fmt: skip
        self.summing(splits, launch, self.index, partial=partial, found=found)
        return found
