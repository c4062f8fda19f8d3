"""Descriptors that the host makes of tensors for NVIDIA's GPUs (TMA)."""

from __future__ import annotations

import ctypes
import operator
import struct
from ctypes import c_int, c_uint, c_uint64
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tritonwin.driver.payload.sources import DriverSource, Leaf


class TensorMap:
    """CUtensorMap, 128 bytes; what `fill_tma_descriptor` returns from 3.5 on."""

    __slots__ = ("_tritonwin_bytes",)

    def __init__(self) -> None:
        self._tritonwin_bytes = bytes(128)


TensorMap.__name__ = TensorMap.__qualname__ = "PyCUtensorMap"
TensorMap.__module__ = "triton.backends.nvidia"


def descriptor_bytes(leaf: Leaf, value: Any) -> bytes:
    """The bytes of a tensor map; raises where `value` holds none."""
    if leaf.parse != "nvTmaDesc":
        return map_bytes(value)
    if type(value) is not TensorMap:
        raise TypeError(f"object must be of type PyCUtensorMap, got {type(value).__name__}")
    return value._tritonwin_bytes


def map_bytes(value: Any) -> bytes:
    """The tensor map that `tma_desc_cpu_ptr` of 3.2 to 3.4 points to."""
    address = value.tma_desc_cpu_ptr()
    if not address or address % 64:
        raise ValueError("tma_desc_cpu_ptr() must be 64-byte aligned")
    return ctypes.string_at(address, 128)


class TensorMaps:
    """The functions of `cuda_utils` that fill tensor maps."""

    _module: DriverSource
    _text: str
    _driver: Any

    def fill_1d_tma_descriptor(
        self, address: int, dim: int, box: int, size: int, target: Any
    ) -> None:
        self._plain(target, size, address, [dim], [dim * size], [box], 0, 0)

    def fill_2d_tma_descriptor(
        self, address: int, outer: int, inner: int, box_outer: int, box_inner: int, size: int,
        target: Any,
    ) -> None:  # fmt: skip
        width = size * box_inner
        # the convention between Triton's code generation and this function
        swizzle = 3 if width >= 128 else 2 if width >= 64 else 1
        box = [min(box_inner, 128 // size) if size in (1, 2, 4) else box_inner, box_outer]
        strides = [inner * size, inner * outer * size]
        self._plain(target, size, address, [inner, outer], strides, box, swizzle, 2)

    def _plain(self, target: Any, size: int, *row: Any) -> None:
        if size not in (1, 2, 4):
            raise ValueError("elementSize must be 1, 2, or 4")
        place = target if isinstance(target, int) else _address(target)
        self._encode(place, {1: 0, 2: 1, 4: 2}[size], *row)

    def fill_tma_descriptor(self, *row: Any) -> TensorMap | None:
        if self._module.functions["fill_tma_descriptor"][:2] == "KK":  # 3.4: into given memory
            self._tiled(row[0], [*row[1:], 0])
            return None
        return self.fill_tma_descriptor_tiled(*(*row, 0)[:8])

    def fill_tma_descriptor_tiled(self, *row: Any) -> TensorMap:
        memory = _aligned(128)
        shape, strides = self._tiled(_address(memory), row)
        if "desc_u64[1]" in self._text:
            _clear_wide_index(memory, self._driver, shape, strides, row[2])
        return _tensor_map(memory)

    def _tiled(self, target: int, row: Sequence[Any]) -> tuple[list[int], list[int]]:
        address, swizzle, size, kind, block, shape, strides, padding = row
        box, (dims, lengths) = _reversed(block), _sizes(shape, strides, size)
        if len(box) != len(dims):
            raise RuntimeError("Rank mismatch")
        self._encode(target, kind, address, dims, lengths, box, swizzle, 2, padding)
        return dims, lengths

    def _encode(
        self, target: int, kind: int, address: int, dims: list[int], strides: list[int],
        box: list[int], swizzle: int, promotion: int, padding: int = 0,
    ) -> None:  # fmt: skip
        self._driver(
            "cuTensorMapEncodeTiled", target, kind, len(dims), address, _u64(dims), _u64(strides),
            _u32(box), _u32([1] * len(dims)), 0, swizzle, promotion, int(padding == 1),
        )  # fmt: skip

    def fill_tma_descriptor_im2col(self, *row: Any) -> TensorMap:
        address, swizzle, size, kind, block, shape, strides, padding, low, high, *rest = row
        dims, lengths = _sizes(shape, strides, size)
        lower, upper, steps = map(_reversed, (low, high, rest[-1]))
        if len(steps) != len(dims) or not len(lower) == len(upper) == len(dims) - 2:
            raise RuntimeError("Rank mismatch")
        # 3.7 has both numbers as arguments
        channels, pixels = rest[:2] if len(rest) == 3 else _reversed(block)
        memory = _aligned(128)
        self._driver(
            "cuTensorMapEncodeIm2col", _address(memory), kind, len(dims), address, _u64(dims),
            _u64(lengths), _i32(lower), _i32(upper), channels, pixels, _u32(steps), 0, swizzle, 2,
            int(padding == 1),
        )  # fmt: skip
        return _tensor_map(memory)


def _reversed(values: Any) -> list[int]:
    return [operator.index(each) for each in values][::-1]


def _sizes(shape: Any, strides: Any, size: int) -> tuple[list[int], list[int]]:
    """The lengths of the dimensions and their strides in bytes, the innermost one first.

    The innermost one's stride is an element. The last one here, of the whole tensor, is not read.
    """
    dims, steps = _reversed(shape), _reversed(strides)
    if len(dims) != len(steps):
        raise RuntimeError("Rank mismatch")
    lengths = [size * step for step in steps[1:]]
    return dims, [*lengths, dims[-1] * (lengths[-1] if lengths else size)]


def _clear_wide_index(
    memory: Any, driver: Any, dims: list[int], lengths: list[int], size: int
) -> None:
    """Work around drivers up to CUDA 13.1, as Triton does: small tensors take a narrow index."""
    last = sum((dim - 1) * step for dim, step in zip(dims, [size, *lengths]))
    if driver.integer("cuDriverGetVersion") <= 13010 and last + 1 < 128 * 1024:
        (word,) = struct.unpack_from("<Q", memory, 8)
        struct.pack_into("<Q", memory, 8, word & ~(1 << 21))


def _aligned(size: int) -> Any:
    whole = bytearray(size + 128)
    return memoryview(whole)[-_address(whole) % 128 :][:size]


def _address(memory: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _tensor_map(memory: Any) -> TensorMap:
    found = TensorMap()
    found._tritonwin_bytes = bytes(memory)
    return found


def _array(kind: Any, values: list[int]) -> Any:
    return (kind * len(values))(*values)


_u64, _u32, _i32 = (partial(_array, kind) for kind in (c_uint64, c_uint, c_int))
