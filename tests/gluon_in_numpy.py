"""Gluon kernels in numpy: their own Python, with arrays for what only a GPU has.

Layouts say where numbers lie, not what they are, so they are passed over; copies and products that a
GPU starts are done at once, and every program runs after the one before. What this cannot show:
races, wrong waits, and layouts that the compiler rejects.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from triton.experimental.gluon import language

BFLOAT16 = "bf16"


class Array(np.ndarray):
    """With the methods of a tensor of Triton's."""

    def to(self, kind: Any, bitcast: bool = False) -> Array:
        if bitcast:
            return array(np.ascontiguousarray(self).view(kind))
        return rounded(self) if kind == BFLOAT16 else array(np.asarray(self).astype(kind))

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


class Single(np.float32):
    """The type of an element, as kernels ask for it."""

    primitive_bitwidth = 32


class Pointer:
    """Into a flat array; whatever is read or written must lie in it."""

    def __init__(self, base: np.ndarray, at: Any = 0, written: np.ndarray | None = None) -> None:
        """written: counts how often each number is."""
        self.base = base.reshape(-1)
        self.at = at
        self.written = written
        self.dtype = SimpleNamespace(
            element_ty=Single if base.dtype == np.float32 else base.dtype.type
        )

    def __add__(self, steps: Any) -> Pointer:
        return Pointer(self.base, np.asarray(self.at) + np.asarray(steps), self.written)

    def places(self, mask: Any) -> tuple[np.ndarray, np.ndarray]:
        at, wanted = np.broadcast_arrays(self.at, True if mask is None else mask)
        assert not wanted.any() or 0 <= at[wanted].min() <= at[wanted].max() < self.base.size
        return at, wanted


class Shared:
    """A part of shared memory."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def index(self, i: Any) -> Shared:
        return Shared(self.values[int(i)])

    def slice(self, start: int, size: int) -> Shared:
        return Shared(self.values[int(start) : int(start) + int(size)])

    def permute(self, order: Sequence[int]) -> Shared:
        return Shared(np.transpose(self.values, order))

    def _reinterpret(self, kind: object, shape: Sequence[int], layout: object) -> Shared:
        return Shared(self.values.reshape(shape))

    def store(self, values: Array) -> None:
        assert self.values.shape == values.shape
        self.values[...] = values

    def load(self, layout: object) -> Array:
        return array(self.values.copy())


def descriptor(matrix: np.ndarray, box: Sequence[int] = ()) -> SimpleNamespace:
    return SimpleNamespace(matrix=matrix, layout=None, block_type=SimpleNamespace(shape=box))


def _copy(source: Any, at: Sequence[Any], ready: object, to: Shared) -> None:
    row, column = map(int, at)
    rows, columns = to.values.shape
    to.values[...] = source.matrix[row : row + rows, column : column + columns]


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
    found = np.full(places.shape, other, at.base.dtype)
    found[wanted] = at.base[places[wanted]]
    return array(found)


def _store(to: Pointer, value: Any, mask: Any = None, **_: object) -> None:
    places, wanted = to.places(mask)
    values = np.broadcast_to(value, places.shape)
    to.base[places[wanted]] = values[wanted].astype(to.base.dtype)
    if to.written is not None:
        np.add.at(to.written, places[wanted], 1)


def _assembly(text: str, _: str, values: Sequence[Array], **__: object) -> Array:
    (value,) = values
    root = np.sqrt(value.astype(np.float32))
    return array((1 / root if text.startswith("rsqrt") else root).astype(np.float32))


def _allocate(kind: Any, shape: Sequence[int], layout: object = None) -> Shared:
    return Shared(np.full(shape, 0, np.float32 if kind == BFLOAT16 else kind))


class _Language:
    """`gl` for one program; layouts are the real ones, but one that asks for types of Triton's."""

    NVMMASharedLayout = SimpleNamespace(get_default_for=lambda *_: None)
    float16, float32, bfloat16 = np.float16, np.float32, BFLOAT16
    uint16, uint32, int64 = np.uint16, np.uint32, np.int64
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
        "gl": _Language(program, grid, warps), "mbarrier": quiet, "thread_barrier": nothing,
        "tma": SimpleNamespace(async_copy_global_to_shared=_copy), "fence_async_shared": nothing,
        "warpgroup_mma": _product, "mma_v2": _product, "warpgroup_mma_init": lambda v: v,
        "warpgroup_mma_wait": lambda _, deps: deps[0] if len(deps) == 1 else tuple(deps),
    }  # fmt: skip


def run(kernel: str, modules: Sequence[ModuleType], grid: tuple[int, int], warps: int,
        **given: Any) -> None:  # fmt: skip
    """Run every program; the kernel and all that it calls are in `modules`, the latest first."""
    for program in itertools.product(*map(range, grid)):
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
