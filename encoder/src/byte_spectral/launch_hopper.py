"""The sm_90 kernels behind tensors. Needs a Triton with Gluon."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from byte_spectral import hopper, hopper_gradient, hopper_linear, hopper_walk, pack
from byte_spectral.caller import Caller, Launch, aligned
from byte_spectral.launch import (
    Encoding,
    Form,
    Gradient,
    Projecting,
    Walking,
    cdiv,
    of_bias,
    rows_and_bytes,
)
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

LARGEST_BOX = 256  # rows that one bulk copy moves
GROUP = 32  # columns of the output of which four threads hold 16 bytes each
PACKED = 256  # numbers of the taps that a program packs, of the gradient


@functools.cache
def _layout(box: tuple[int, ...], kind: Any) -> Any:
    """Kept: Triton takes 0.1 ms to find it, and a weight is described at each call."""
    return gl.NVMMASharedLayout.get_default_for(list(box), kind)


def described(matrix: torch.Tensor, box: list[int], kind: Any) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(matrix, box, _layout(tuple(box), kind))


def in_order(weight: torch.Tensor) -> torch.Tensor:
    """(D, E) as (D/32, 4, 4, 2, E), without a copy: row 8h + 2q + l of 32 is row 8q + 2h + l."""
    D, E = weight.shape
    return weight.as_strided((D // GROUP, 4, 4, 2, E), (GROUP * E, 2 * E, 8 * E, E, 1))


def shares(chunks: int, chunk_bytes: int, shared: int) -> int:
    """Number of parts of the bins for which a program's taps fit; at most one a chunk."""
    return cdiv(chunks, max(1, min(chunks, shared // chunk_bytes)))


def options(plan: Plan) -> dict[str, Any]:
    """The options of a launch."""
    given: dict[str, Any] = {"num_warps": plan["warps"]}
    if plan.get("pdl"):
        given["launch_pdl"] = True
    if "registers" in plan:
        given["maxnreg"] = plan["registers"]
    return given


class Resident(Form):
    """Taps, or more, resident in shared memory."""

    def of_rows(self, M: int, R: int, lengths: torch.Tensor | None, skip: int) -> dict[str, Any]:
        """The rows' part of a record; see `hopper_frame.frame_of`."""
        spec, bm = self.spec, self.plan["bm"]
        whole = spec.shift == 0 and R % bm == 0 and self.rows == spec.W
        return {"lengths": lengths is not None, "even_rows": M % bm == 0,
                "regular": whole and lengths is None and skip == 0}  # fmt: skip


class Hopper(Resident, Encoding):
    """Taps resident in shared memory; see `hopper`."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.factor = pack.headroom(spec, window)
        self.pairs = 16 // dtype.itemsize // 2
        be = plan["be"]
        chunks = cdiv(spec.K, be)
        least = shares(chunks, 4 * self.limbs * self.rows * be, plan["shared"] // plan["per_sm"])
        self.chunks = cdiv(chunks, max(least, min(plan["split"], chunks)))
        self.split = cdiv(chunks, self.chunks)  # no program without a bin
        self.box = [min(LARGEST_BOX, self.limbs * self.rows), 2 * be]
        self.caller = Caller(hopper.encode, **options(plan))

    @staticmethod
    def fits(spec: Spec, plan: Plan) -> bool:
        """True where frames fit the registers and one chunk of taps the shared memory."""
        count = 1 if spec.precision == "fast" else 2
        rows = pack.power_of_two(spec.W)
        return rows <= plan.get("widest", 256) and 4 * count * rows * plan["be"] <= plan["shared"]

    def pack(self, taps: torch.Tensor) -> TensorDescriptor:
        chunks = self.split * self.chunks
        packed = self.pack_with(taps, self.limbs, self.rows, self.plan["be"], chunks, self.pairs,
                                self.factor)  # fmt: skip
        return described(packed, self.box, gl.float16)

    def launch(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Launch:
        plan = self.plan
        M, R, _ = rows_and_bytes(x, skip)
        tiles, split, chunks = cdiv(M, plan["bm"]), self.split, self.chunks
        # few row tiles: a program has fewer bins, of the same packed taps
        while (chunks % 2 == 0 and 2 * split <= plan["most"]
               and 2 * split * tiles <= plan["fill"] * self.processors):  # fmt: skip
            split, chunks = 2 * split, chunks // 2
        grid = (split * min(tiles, max(1, self.processors * plan["per_sm"] // split)), 1, 1)
        record = self.dense(
            bins=split * chunks * plan["be"], factor=1 / self.factor, chunks=chunks, split=split,
            **self.of_rows(M, R, lengths, skip),
        )  # fmt: skip
        return self.caller.launch(grid, M=M, T=R, stride_x=x.stride(0), history=skip, S=record)


class HopperLinear(Resident, Projecting):
    """Features times a matrix; see `hopper_linear`. `dtype` is that of weight and output."""

    def __init__(
        self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan, width: int
    ) -> None:
        super().__init__(spec, dtype, device, plan)
        self.chunks = cdiv(spec.K, plan["be"])
        self.box = [min(LARGEST_BOX, self.limbs * self.rows), 2 * plan["be"]]
        self.width = width
        self.bd = self.columns(spec, plan, width)
        self.ordered = width % GROUP == 0
        self.kind = gl.bfloat16 if dtype == torch.bfloat16 else gl.float16
        self.caller = Caller(hopper_linear.project, **options(plan))

    @staticmethod
    def columns(spec: Spec, plan: Plan, width: int) -> int:
        """Columns of the output a program, 0 if taps and matrix do not fit."""
        count = 1 if spec.precision == "fast" else 2
        be = plan["be"]
        rows = pack.power_of_two(spec.W)
        chunks = cdiv(spec.K, be)
        for bd in (256, 128, 64):
            used = chunks * be * 2 * (2 * count * rows + bd)
            if used <= plan["shared"] and (bd == 64 or bd < 2 * width) and rows <= LARGEST_BOX // 2:
                return bd
        return 0

    def pack(self, taps: torch.Tensor) -> TensorDescriptor:
        packed = self.pack_with(taps, self.limbs, self.rows, self.plan["be"], self.chunks, 1)
        return described(packed, self.box, gl.float16)

    def matrix(self, weight: torch.Tensor) -> TensorDescriptor:
        """The matrix in boxes; where ordered, its rows as accumulators lie in the output."""
        if not aligned(weight):  # as a part of another tensor may be: bulk copies start at 16 bytes
            weight = weight.clone()
        weight = weight.view(-1).view(weight.shape)  # the stride of a single row may be any number
        box = [self.bd, self.plan["be"]]
        if not self.ordered:
            return described(weight, box, self.kind)
        view = in_order(weight)
        return described(view, [self.bd // GROUP, *view.shape[1:4], box[1]], self.kind)

    def launch(
        self, x: torch.Tensor, lengths: torch.Tensor | None, bias: torch.Tensor | None
    ) -> Launch:
        plan = self.plan
        M, R, _ = rows_and_bytes(x, 0)
        split = cdiv(self.width, self.bd)
        programs = split * min(cdiv(M, plan["bm"]), max(1, self.processors // split))
        record = self.dense(
            bins=self.chunks * plan["be"], chunks=self.chunks, split=split, width=self.width,
            bd=self.bd, ordered=self.ordered, **self.of_rows(M, R, lengths, 0), **of_bias(bias),
        )  # fmt: skip
        record = dataclasses.replace(record, even=self.width % self.bd == 0)
        return self.caller.launch((programs, 1, 1), M=M, T=R, stride_x=x.stride(0), S=record)


class HopperWalking(Walking):
    """Windows "tail" of any length; see `hopper_walk`."""

    @staticmethod
    def fits(spec: Spec, plan: Plan, window: str) -> bool:
        """True where the window has three sums, and is long enough for them to pay."""
        return window == "tail" and plan["window"] <= spec.W

    @property
    def kernel(self) -> Any:
        return hopper_walk.walk

    def make_tables(self) -> None:
        taps, *tables = pack.hopper_walking(self.record, self.spec.N)
        self.constants = dict(zip(("table", "turn", "ramp"), self.on_device(tables), strict=True))
        self.constants["taps"] = described(
            taps.to(self.device), [self.record.steps, 2 * self.record.bins], gl.float16
        )


class HopperGradient(Gradient):
    """The gradient of the taps; bins are the rows of the products, see `hopper_gradient`."""

    def __init__(self, spec: Spec, device: torch.device, plan: Plan, count: int) -> None:
        super().__init__(spec, device, plan, count)
        early = {"launch_pdl": True} if plan["pdl"] else {}
        self.packing = Caller(hopper_gradient.pack, num_warps=4, **early)
        self.caller = Caller(hopper_gradient.gradient, **options(plan))

    @staticmethod
    def fits(spec: Spec, plan: Plan) -> bool:
        """True where the frame of a window fits, and X is what the kernel makes it."""
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
        be = self.plan["be"]
        M, T, _ = rows_and_bytes(x, 0)
        size, splits = 2 * self.rows * self.bins, self.splits(M)
        record = self.dense(bins=self.bins, splits=1)
        packed = torch.empty((self.limbs * size // self.rows, self.rows), dtype=torch.float16,
                             device=x.device)  # fmt: skip
        pack_all = self.packing.launch((size // PACKED, 1, 1), BLOCK=PACKED, S=record)
        self.packing((taps.shape, aligned(taps)), pack_all, self.index, taps=taps, packed=packed)
        partial = torch.empty((splits, 2, self.rows, self.bins), device=x.device)
        regular = T % self.plan["bm"] == 0 and self.bins == self.spec.K
        launch = self.caller.launch(
            (splits, self.bins // be, 1), M=M, T=T, stride_x=x.stride(0),
            S=dataclasses.replace(record, regular=regular),
        )  # fmt: skip
        key = (self.key_of(x, None, 0), upstream.dtype, aligned(upstream))
        matrix = described(packed, [2 * be, self.rows], gl.float16)
        self.caller(key, launch, self.index, x=x, taps=matrix, upstream=upstream, partial=partial)
        return self.sum_up(partial)
