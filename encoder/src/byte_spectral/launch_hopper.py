"""The sm_90 kernels behind tensors. Needs a Triton with Gluon."""

from __future__ import annotations

from typing import Any

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from byte_spectral import hopper, hopper_linear, pack
from byte_spectral.caller import Caller, aligned
from byte_spectral.launch import Form, cdiv, rows_and_bytes
from byte_spectral.plans import Plan
from byte_spectral.spec import Spec

LARGEST_BOX = 256  # rows that one bulk copy moves
GROUP = 32  # columns of the output of which four threads hold 16 bytes each


def described(matrix: torch.Tensor, box: list[int], kind: Any) -> TensorDescriptor:
    layout = gl.NVMMASharedLayout.get_default_for(box, kind)
    return TensorDescriptor.from_tensor(matrix, box, layout)


def in_order(weight: torch.Tensor) -> torch.Tensor:
    """(D, E) as (D/32, 4, 4, 2, E), without a copy: row 8h + 2q + l of 32 is row 8q + 2h + l."""
    D, E = weight.shape
    return weight.as_strided((D // GROUP, 4, 4, 2, E), (GROUP * E, 2 * E, 8 * E, E, 1))


def shares(chunks: int, chunk_bytes: int, shared: int) -> int:
    """Into how many parts the bins are split, so that a program's taps fit; at most one a chunk."""
    return cdiv(chunks, max(1, min(chunks, shared // chunk_bytes)))


def options(plan: Plan) -> dict[str, Any]:
    """What a launch is given besides arguments."""
    given: dict[str, Any] = {"num_warps": plan["warps"]}
    if plan.get("pdl"):
        given["launch_pdl"] = True
    if "registers" in plan:
        given["maxnreg"] = plan["registers"]
    return given


def regular(spec: Spec, bm: int, rows: int, length: int, bare: bool) -> bool:
    """Which frames `hopper.frame_of` reads almost without masks. bare: no history, no lengths."""
    return bare and spec.shift == 0 and length % bm == 0 and rows == spec.W


class Hopper(Form):
    """Taps resident in shared memory; see `hopper`."""

    def __init__(self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan,
                 window: str | None = None) -> None:  # fmt: skip
        super().__init__(spec, dtype, device, plan)
        self.factor = pack.headroom(spec, window)
        self.limbs = 1 if spec.precision == "fast" else 2
        self.rows = pack.power_of_two(spec.W)
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
        """Whether frames fit the registers and one chunk of taps the shared memory."""
        count = 1 if spec.precision == "fast" else 2
        rows = pack.power_of_two(spec.W)
        return rows <= plan.get("widest", 256) and 4 * count * rows * plan["be"] <= plan["shared"]

    def pack(self, taps: torch.Tensor) -> TensorDescriptor:
        chunks = self.split * self.chunks
        packed = self.pack_with(taps, self.limbs, self.rows, self.plan["be"], chunks, self.pairs,
                                self.factor)  # fmt: skip
        return described(packed, self.box, gl.float16)

    def arguments(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> Any:
        plan, spec = self.plan, self.spec
        M, R, _ = rows_and_bytes(x, skip)
        tiles = cdiv(M, plan["bm"])
        room = max(1, self.processors * plan["per_sm"] // self.split)
        rest = (M, R, x.stride(0), skip, spec.shift, spec.K, spec.features, 1 / self.factor,
                spec.W, self.rows, self.shift, self.limbs, spec.parts, lengths is not None,
                M % plan["bm"] == 0, self.split * self.chunks * plan["be"] == spec.K, plan["bm"],
                plan["be"], self.chunks, self.split,
                regular(spec, plan["bm"], self.rows, R, lengths is None and skip == 0),
                plan.get("cache", ""), plan.get("pdl", False))  # fmt: skip
        return (self.split * min(tiles, room), 1, 1), rest

    def __call__(
        self,
        x: torch.Tensor,
        packed: TensorDescriptor,
        lengths: torch.Tensor | None = None,
        skip: int = 0,
    ) -> torch.Tensor:
        shape = (x.shape[0], x.shape[1] - skip, self.spec.features)
        out = torch.empty(shape, dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        key = self.key_of(x, lengths, skip)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x, lengths, skip)
        grid, rest = found
        tensors = (x, out, x if lengths is None else lengths)
        self.caller(key, grid, tensors, rest, self.index, (packed,))
        return out


class HopperLinear(Form):
    """Features times a matrix; see `hopper_linear`. `dtype` is that of weight and output."""

    def __init__(
        self, spec: Spec, dtype: torch.dtype, device: torch.device, plan: Plan, width: int
    ) -> None:
        super().__init__(spec, dtype, device, plan)
        self.limbs = 1 if spec.precision == "fast" else 2
        self.rows = pack.power_of_two(spec.W)
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

    def arguments(self, x: torch.Tensor, lengths: torch.Tensor | None, bias: bool) -> Any:
        plan, spec = self.plan, self.spec
        M, R, _ = rows_and_bytes(x, 0)
        tiles, split = cdiv(M, plan["bm"]), cdiv(self.width, self.bd)
        programs = split * min(tiles, max(1, self.processors // split))
        rest = (M, R, x.stride(0), 0, spec.shift, self.width, spec.W, self.rows, self.shift,
                self.limbs, spec.parts, lengths is not None, bias, M % plan["bm"] == 0,
                self.width % self.bd == 0, plan["bm"], plan["be"], self.bd, self.chunks, split,
                self.ordered, regular(spec, plan["bm"], self.rows, R, lengths is None),
                plan.get("cache", ""), plan.get("pdl", False))  # fmt: skip
        return (programs, 1, 1), rest

    def __call__(
        self,
        x: torch.Tensor,
        packed: TensorDescriptor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        lengths: torch.Tensor | None,
    ) -> torch.Tensor:
        out = torch.empty((*x.shape, self.width), dtype=self.dtype, device=self.device)
        if not out.numel():
            return out
        given = None if bias is None else (bias.dtype, aligned(bias))
        key = (self.key_of(x, lengths, 0), given)
        found = self.shapes.get(key)
        if found is None:
            found = self.shapes[key] = self.arguments(x, lengths, bias is not None)
        grid, rest = found
        matrix = self.matrix(weight)
        tensors = (x, x if bias is None else bias, out, x if lengths is None else lengths)
        self.caller(key, grid, tensors, rest, self.index, (packed, matrix))
        return out
