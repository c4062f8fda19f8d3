"""The kernels in Gluon behind tensors: those of sm_90, and the walk."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from byte_spectral import hopper, hopper_gradient, hopper_linear, pack, walk
from byte_spectral.caller import Caller, Launch, aligned
from byte_spectral.launch import Form, cdiv, options, rows_and_bytes
from byte_spectral.plans import Plan
from byte_spectral.records import Walk
from byte_spectral.spec import Spec
from byte_spectral.taps import gain, window_tensor

LONGEST = 64  # positions of a chunk of a walk
LARGEST_BOX = 256  # rows that one bulk copy moves
WIDEST = 256  # taps of a frame in registers
GROUP = 32  # columns of the output of which four threads hold 16 bytes each


@functools.cache
def _layout(box: tuple[int, ...], kind: Any) -> Any:
    """Kept: Triton takes 0.1 ms to find it, and a weight is described at each call."""
    return gl.NVMMASharedLayout.get_default_for(list(box), kind)


def described(matrix: torch.Tensor, box: tuple[int, ...], kind: Any) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(matrix, list(box), _layout(box, kind))


def in_order(weight: torch.Tensor) -> torch.Tensor:
    """(D, E) as (D/32, 4, 4, 2, E), without a copy: row 8h + 2q + l of 32 is row 8q + 2h + l."""
    D, E = weight.shape
    return weight.as_strided((D // GROUP, 4, 4, 2, E), (GROUP * E, 2 * E, 8 * E, E, 1))


class Hopper(Form):
    """Taps resident in shared memory, see `hopper`; a layer behind them, see `hopper_linear`.

    Attributes:
        own, split: chunks of bins of a program; programs that share the bins, or the columns.
        bd: columns of the layer's output a program.
    """

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None, *layer: Any) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan, *layer)
        be = self.chunk = plan["be"]
        self.own = self.chunks = cdiv(spec.K, be)
        self.bd = self.columns(spec, plan, self.width)
        if self.width:
            self.split = cdiv(self.width, self.bd)
        else:
            self.factor = pack.headroom(spec, window)
            self.pairs = 16 // dtype.itemsize // 2
            room = plan["shared"] // plan["per_sm"] // (4 * self.limbs * self.rows * be)
            least = cdiv(self.chunks, max(1, min(self.chunks, room)))
            self.own = cdiv(self.chunks, max(least, min(plan["split"], self.chunks)))
            self.split = cdiv(self.chunks, self.own)  # no program without a bin
            self.chunks = self.split * self.own
        self.box = (min(LARGEST_BOX, self.limbs * self.rows), 2 * be)
        kernel = hopper_linear.project if self.width else hopper.encode
        self.caller = Caller(kernel, **options(plan))

    @staticmethod
    def columns(spec: Spec, plan: Plan, width: int) -> int:
        """Columns of a layer's output a program; 0 if taps and matrix do not fit."""
        count = 1 if spec.precision == "fast" else 2
        rows, bins = pack.power_of_two(spec.W), cdiv(spec.K, plan["be"]) * plan["be"]
        for bd in (256, 128, 64):
            used = bins * 2 * (2 * count * rows + bd)
            if used <= plan["shared"] and (bd == 64 or bd < 2 * width) and rows <= LARGEST_BOX // 2:
                return bd
        return 0

    @staticmethod
    def fits(spec: Spec, plan: Plan, width: int) -> bool:
        """True where frames fit the registers, and taps and matrix the shared memory."""
        if width:  # rows of a matrix begin at multiples of 16 bytes
            return spec.K % 8 == 0 and Hopper.columns(spec, plan, width) > 0
        count = 1 if spec.precision == "fast" else 2
        rows = pack.power_of_two(spec.W)
        return rows <= WIDEST and 4 * count * rows * plan["be"] <= plan["shared"]

    def pack(self, taps: torch.Tensor) -> TensorDescriptor:
        return described(super().pack(taps), self.box, gl.float16)

    def matrix(self, weight: torch.Tensor) -> TensorDescriptor:
        """The matrix in boxes; where ordered, its rows as accumulators lie in the output."""
        if not aligned(weight):  # as a part of another tensor may be: bulk copies start at 16 bytes
            weight = weight.clone()
        weight = weight.view(-1).view(weight.shape)  # the stride of a single row may be any number
        kind = gl.bfloat16 if self.dtype == torch.bfloat16 else gl.float16
        if self.width % GROUP:
            return described(weight, (self.bd, self.chunk), kind)
        view = in_order(weight)
        return described(view, (self.bd // GROUP, *view.shape[1:4], self.chunk), kind)

    def launch(
        self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int, layer: dict[str, Any]
    ) -> Launch:
        plan, spec = self.plan, self.spec
        M, R, _ = rows_and_bytes(x, skip)
        tiles, split, own = cdiv(M, plan["bm"]), self.split, self.own
        per_split = self.processors * plan.get("per_sm", 1)
        # few row tiles: a program has fewer bins, of the same packed taps
        while (not self.width and own % 2 == 0 and 2 * split <= plan["most"]
               and 2 * split * tiles <= plan["fill"] * self.processors):  # fmt: skip
            split, own = 2 * split, own // 2
        bins = self.chunk * own * (1 if self.width else split)
        record = self.dense(
            x, lengths, skip, layer, bins=bins, chunks=own, split=split, bd=self.bd,
            even=self.width % self.bd == 0 if self.width else bins == spec.K,
            ordered=self.width % GROUP == 0,
        )  # fmt: skip
        grid = (split * min(tiles, max(1, per_split // split)), 1, 1)
        return self.caller.launch(grid, M=M, T=R, stride_x=x.stride(0), history=skip, S=record)


class Gradient(Form):
    """d loss / d taps from d loss / d features, of short windows; see `hopper_gradient`."""

    def __init__(self, spec: Spec, device: torch.device, plan: Plan) -> None:
        super().__init__(spec, torch.float32, device, plan)
        self.rows = pack.power_of_two(spec.W, least=plan["bk"])
        self.chunk, self.chunks = plan["be"], cdiv(spec.K, plan["be"])
        self.caller = Caller(hopper_gradient.gradient, **options(plan))

    def gradient(self, x: torch.Tensor, taps: torch.Tensor, upstream: torch.Tensor,
                 lengths: torch.Tensor | None) -> torch.Tensor:  # fmt: skip
        M, R, _ = rows_and_bytes(x, 0)
        splits = max(1, min(self.plan["splits"], cdiv(M, self.plan["bm"])))
        partial = torch.empty((splits, *taps.shape), device=x.device)
        record = self.dense(x, lengths, 0, bins=self.chunk * self.chunks)
        launch = self.caller.launch(
            (splits, self.chunks, 1), M=M, T=R, stride_x=x.stride(0), S=record
        )
        key = self.key_of(x, lengths, 0, upstream.dtype, aligned(upstream))
        box = (self.limbs * self.rows, 2 * self.chunk)
        self.caller(
            key, launch, self.index, x=x, taps=described(self.pack(taps), box, gl.float16),
            upstream=upstream, partial=partial, lengths=x if lengths is None else lengths,
        )  # fmt: skip
        return partial.sum(0)


class Walking(Form):
    """Windows "tail" and "rect" at a cost that does not depend on their length; see `walk`."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        # a long window in short chunks is many factors one after the other, whose errors add up
        steps = max(plan["steps"], min(LONGEST, pack.power_of_two(cdiv(spec.W, plan["chunks"]))))
        self.record = Walk(
            W=spec.W, K=spec.K, parts=spec.parts, shift=spec.shift, tail=window == "tail",
            sign=1 if spec.W % spec.N == 0 else 2 if 2 * spec.W % spec.N == 0 else 0,
            steps=steps, rows=plan["chunks"], bins=plan["be"], turns=min(plan["turns"], steps),
            lane=plan.get("lane", plan["be"] // 32), padded=cdiv(spec.K, plan["be"]) * plan["be"],
            limbs=self.limbs, byte_limbs=plan["byte_limbs"], scale=self.shift,
            gain=gain(window_tensor(window, spec.W)).item() * (0.5 if window == "tail" else 1),
            early=int(plan.get("pdl", 0)), ahead=plan.get("ahead", False),
        )  # fmt: skip
        operands = zip(("taps", "table", "turn", "ramp"), pack.walking(self.record, spec.N),
                       strict=True)  # fmt: skip
        self.constants = {name: each.contiguous().to(device) for name, each in operands}
        self.caller = Caller(walk.walk, **options(plan))

    def launch(
        self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int, *_: object
    ) -> Launch:
        record = self.record
        R, T = rows_and_bytes(x, skip)[1:]
        segment, tiles = record.rows * record.steps, record.padded // record.bins
        even = R % segment == 0 and record.padded == record.K
        return self.caller.launch(
            (x.shape[0] * cdiv(R, segment), tiles, 1), length=T, R=R, stride_x=x.stride(0),
            skip=skip, S=dataclasses.replace(record, lengths=lengths is not None, even=even),
        )  # fmt: skip
