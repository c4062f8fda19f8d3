"""Gluon kernels in numpy: their own Python, with arrays for what only a GPU has.

Layouts say where numbers lie, not what they are, so they are passed over; copies and products that a
GPU starts are done at once, and every program runs after the one before. What this cannot show:
races, wrong waits, and layouts that the compiler rejects.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Iterable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from triton.experimental.gluon import language


class Single(np.float32):
    """The type of an element, as kernels ask for it."""

    primitive_bitwidth = 32


class Half(np.float16):
    primitive_bitwidth = 16


# numpy has no such numbers: they are float32 with a short mantissa, and 16 bits in memory
BFLOAT16 = SimpleNamespace(primitive_bitwidth=16)
ELEMENTS = {torch.float32: Single, torch.float16: Half, torch.bfloat16: BFLOAT16}


class Array(np.ndarray):
    """With the methods of a tensor of Triton's."""

    def to(self, kind: Any, bitcast: bool = False) -> Array:
        if bitcast:
            return array(np.ascontiguousarray(self).view(kind))
        return rounded(self) if kind is BFLOAT16 else array(np.asarray(self).astype(kind))

    def reshape(self, shape: Sequence[int]) -> Array:  # type: ignore[override]
        return array(np.asarray(self).reshape(shape))

    def permute(self, order: Sequence[int]) -> Array:
        return array(np.transpose(np.asarray(self), order))


def array(values: Any) -> Array:
    return np.asarray(values).view(Array)


def rounded(values: Array) -> Array:
    """To bf16, kept as float32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return array((bits & 0xFFFF0000).astype(np.uint32).view(np.float32))


class Numbers:
    """The places of a tensor's numbers, and a mark for each that was written."""

    def __init__(self, tensor: torch.Tensor, start: int | None = None) -> None:
        """start: the address of the first; that of the tensor, unless it has no memory."""
        self.start = tensor.data_ptr() if start is None else start
        self.item = tensor.element_size()
        pairs = zip(tensor.stride(), tensor.shape, strict=True)
        self.steps = sorted(((s, n) for s, n in pairs if n > 1 and s), reverse=True)
        self.size = math.prod(n for _, n in self.steps)
        self.written: list[np.ndarray] = []

    def which(self, offsets: np.ndarray) -> np.ndarray:
        """The index of each number by its distance from the first; -1 where there is none."""
        index, rest = np.zeros(offsets.shape, np.int64), offsets
        inside = offsets >= 0
        for stride, count in self.steps:
            at = rest // stride
            inside = inside & (at < count)
            index, rest = index * count + at, rest - at * stride
        return np.where(inside & (rest == 0), index, -1)

    def read(self, offsets: np.ndarray) -> None:
        assert (self.which(offsets) >= 0).all(), "a kernel reads what belongs to no row"

    def write(self, offsets: np.ndarray) -> None:
        index = self.which(offsets)
        assert (index >= 0).all(), "a kernel writes where no output is"
        self.written.append(index.reshape(-1))

    def done(self) -> bool:
        """True if any was written; then each was, once."""
        if self.written:
            counts = np.bincount(np.concatenate(self.written), minlength=self.size)
            assert (counts == 1).all(), f"written {counts.min()} to {counts.max()} times"
        return bool(self.written)


class Nowhere:
    """Memory that is only pointed into."""

    def __init__(self, kind: torch.dtype) -> None:
        kind = torch.int16 if kind == torch.bfloat16 else kind
        self.dtype = torch.empty(0, dtype=kind).numpy().dtype

    def __getitem__(self, at: np.ndarray) -> np.ndarray:
        return np.zeros(at.shape, self.dtype)

    def __setitem__(self, at: np.ndarray, values: np.ndarray) -> None:
        pass


class Pointer:
    """Into the memory of a tensor; whatever is read or written must be a number of it."""

    def __init__(self, base: np.ndarray, kind: Any, numbers: Numbers, at: Any = 0) -> None:
        self.base = base
        self.kind = kind
        self.numbers = numbers
        self.at = at
        self.dtype = SimpleNamespace(element_ty=kind)

    @staticmethod
    def to(tensor: torch.Tensor, numbers: Numbers) -> Pointer:
        span = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
        flat = tensor.as_strided((span,), (1,))
        kind = ELEMENTS.get(tensor.dtype)
        if kind is BFLOAT16:
            flat = flat.view(torch.int16)
        base = flat.numpy()
        return Pointer(base.view(np.uint16) if kind is BFLOAT16 else base, kind, numbers)

    def __add__(self, steps: Any) -> Pointer:
        return Pointer(self.base, self.kind, self.numbers, np.asarray(self.at) + np.asarray(steps))

    def places(self, mask: Any) -> tuple[np.ndarray, np.ndarray]:
        at, wanted = np.broadcast_arrays(self.at, True if mask is None else mask)
        return at.astype(np.int64), wanted


class Shared:
    """A part of shared memory."""

    def __init__(self, values: np.ndarray, dtype: Any) -> None:
        self.values = values
        self.dtype = dtype

    def index(self, i: Any) -> Shared:
        assert 0 <= i < len(self.values)
        return Shared(self.values[int(i)], self.dtype)

    def slice(self, start: int, size: int) -> Shared:
        return Shared(self.values[int(start) : int(start) + int(size)], self.dtype)

    def permute(self, order: Sequence[int]) -> Shared:
        return Shared(np.transpose(self.values, order), self.dtype)

    def _reinterpret(self, kind: object, shape: Sequence[int], layout: object) -> Shared:
        return Shared(self.values.reshape(shape), self.dtype)

    def store(self, values: Array) -> None:
        assert self.values.shape == values.shape
        self.values[...] = values

    def load(self, layout: object) -> Array:
        return array(self.values.copy())


def descriptor(matrix: torch.Tensor, box: Sequence[int]) -> SimpleNamespace:
    kind = ELEMENTS[matrix.dtype]
    if matrix.is_meta:
        matrix = torch.zeros(1, dtype=matrix.dtype).expand(matrix.shape)
    values = matrix.float().numpy() if kind is BFLOAT16 else matrix.numpy()
    return SimpleNamespace(values=values, layout=None, dtype=kind,
                           block_type=SimpleNamespace(shape=box))  # fmt: skip


def _copy(source: Any, at: Sequence[Any], ready: object, to: Shared) -> None:
    """A box that begins inside; 0 past the end."""
    box = tuple(source.block_type.shape)
    assert to.values.shape == box
    assert all(0 <= i < n for i, n in zip(at, source.values.shape, strict=True))
    found = source.values[tuple(slice(int(i), int(i) + n) for i, n in zip(at, box, strict=True))]
    to.values[...] = 0
    to.values[tuple(slice(n) for n in found.shape)] = found


def _copy_all(to: Shared, source: Pointer) -> None:
    to.store(_load(source))


def _product(left: Any, right: Any, total: Array, use_acc: bool = True, **_: object) -> Array:
    a, b = (each.values if isinstance(each, Shared) else each for each in (left, right))
    found = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    assert found.shape == total.shape
    return array((found + (total if use_acc else 0)).astype(np.float32))


def _where(condition: Any, a: Any, b: Any) -> Array:
    like = a if isinstance(a, np.ndarray) else b
    return array(np.where(condition, a, b).astype(like.dtype))


def _load(at: Pointer, mask: Any = None, other: Any = 0, **_: object) -> Array:
    places, wanted = at.places(mask)
    at.numbers.read(places[wanted])
    found = np.full(places.shape, other, at.base.dtype)
    found[wanted] = at.base[places[wanted]]
    if at.kind is BFLOAT16:
        found = (found.astype(np.uint32) << 16).view(np.float32)
    return array(found)


def _store(to: Pointer, value: Any, mask: Any = None, **_: object) -> None:
    places, wanted = to.places(mask)
    to.numbers.write(places[wanted])
    values = np.broadcast_to(value, places.shape)[wanted]
    if to.kind is BFLOAT16:
        values = values.astype(np.float32).view(np.uint32) >> 16
    to.base[places[wanted]] = values.astype(to.base.dtype)


def _assembly(text: str, _: str, values: Sequence[Array], **__: object) -> Array:
    (value,) = values
    if text.startswith("lg2"):
        return array(np.log2(value.astype(np.float32)))
    root = np.sqrt(value.astype(np.float32))
    return array((1 / root if text.startswith("rsqrt") else root).astype(np.float32))


def _allocate(kind: Any, shape: Sequence[int], layout: object = None) -> Shared:
    held = np.dtype(np.float32 if kind is BFLOAT16 else kind)
    return Shared(np.full(shape, 0 if held.kind == "i" else np.nan, held), kind)


class _Language:
    """`gl` for one program; layouts are the real ones, but one that asks for types of Triton's."""

    NVMMASharedLayout = SimpleNamespace(get_default_for=lambda *_: None)
    float16, float32, bfloat16 = np.float16, np.float32, BFLOAT16
    uint16, uint32, int32, int64 = np.uint16, np.uint32, np.int32, np.int64
    load, store, where = staticmethod(_load), staticmethod(_store), staticmethod(_where)
    inline_asm_elementwise = staticmethod(_assembly)
    allocate_shared_memory = staticmethod(_allocate)

    def __init__(self, program: Sequence[int], grid: Sequence[int], warps: int) -> None:
        self.num_programs = lambda axis: grid[axis]
        self.program_id = lambda axis: array(np.int32(program[axis]))
        self.num_warps = lambda: warps
        self.arange = lambda a, b, layout=None: array(np.arange(a, b, dtype=np.int32))
        self.zeros = lambda shape, kind, layout=None: array(np.zeros(shape, kind))
        self.expand_dims = lambda v, axis: array(np.expand_dims(v, axis))
        self.convert_layout = lambda v, layout: v
        self.maximum = lambda a, b: array(np.maximum(a, np.float32(b)))
        self.minimum = lambda a, b: array(np.minimum(a, b))
        self.log = lambda v: array(np.log(v))
        self.exp = lambda v: array(np.exp(v))
        self.split = lambda v: (array(v[..., 0]), array(v[..., 1]))
        self.join = lambda a, b: array(np.stack([a, b], -1))
        self.static_range = lambda *a: range(*map(int, a))

    def __getattr__(self, name: str) -> Any:
        return getattr(language, name)


def _stand_ins(program: Sequence[int], grid: Sequence[int], warps: int) -> dict[str, Any]:
    nothing = lambda *_, **__: None  # noqa: E731
    quiet = SimpleNamespace(init=nothing, expect=nothing, wait=nothing,
                            MBarrierLayout=nothing)  # fmt: skip
    return {
        "gdc_wait": nothing, "gdc_launch_dependents": nothing, "gl": _Language(program, grid, warps), "mbarrier": quiet, "thread_barrier": nothing,
        "async_copy": SimpleNamespace(async_copy_global_to_shared=_copy_all, commit_group=nothing,
                                      wait_group=nothing),
        "tma": SimpleNamespace(async_copy_global_to_shared=_copy), "fence_async_shared": nothing,
        "warpgroup_mma": _product, "mma_v2": _product, "warpgroup_mma_init": lambda v: v,
        "warpgroup_mma_wait": lambda _, deps: deps[0] if len(deps) == 1 else tuple(deps),
    }  # fmt: skip


def run(kernel: str, modules: Sequence[ModuleType], grid: Sequence[int], warps: int,
        programs: Iterable[Sequence[int]] = (), **given: Any) -> None:  # fmt: skip
    """Run these programs, or all; the kernel and what it calls are in `modules`, the latest first."""
    for program in programs or itertools.product(*map(range, grid)):
        names: dict[str, Any] = {"math": math}
        for module in reversed(modules):
            for name, what in vars(module).items():
                function = getattr(what, "fn", what)
                if isinstance(function, types.FunctionType) and hasattr(what, "fn"):
                    names[name] = types.FunctionType(function.__code__, names, name,
                                                     function.__defaults__)  # fmt: skip
                elif isinstance(what, language.constexpr):
                    names[name] = what.value
                elif callable(what) and getattr(what, "__module__", "") == module.__name__:
                    names.setdefault(name, what)
        names |= _stand_ins(program, grid, warps)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            names[kernel](**given)
