"""Descriptors that the host makes of tensors for NVIDIA's GPUs (TMA)."""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_int, c_uint, c_uint64
from functools import partial

from tritonwin.driver.payload.api import type_name

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
    """The bytes of a tensor map.

    Raises:
        TypeError, ValueError, SystemError: `value` holds none.
    """
    if leaf.parse != "nvTmaDesc":
        return map_bytes(value)
    if type(value) is not TensorMap:
        raise TypeError(f"object must be of type PyCUtensorMap, got {type_name(value)}")
    return value._tritonwin_bytes


def map_bytes(value: Any) -> bytes:
    """The tensor map that `tma_desc_cpu_ptr` of 3.2 to 3.4 points to.

    Raises:
        TypeError, ValueError, SystemError: it points to none.
    """
    method = getattr(value, "tma_desc_cpu_ptr", None)
    if method is None:
        raise TypeError("tma_desc_cpu_ptr() method does not exist")
    try:
        address = method()
    except Exception:  # noqa: BLE001 - as the compiled launcher has it
        raise SystemError("Internal Python error!") from None
    if not isinstance(address, int):
        raise TypeError("tma_desc_cpu_ptr() must return 64-bit int")
    if not address:
        raise ValueError("received NULL ptr from tma_desc_cpu_ptr()")
    if address % 64:
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
        self._encode(target, address, [dim], [dim * size], [box], size, swizzle=0, promotion=0)

    def fill_2d_tma_descriptor(
        self, address: int, outer: int, inner: int, box_outer: int, box_inner: int, size: int,
        target: Any,
    ) -> None:  # fmt: skip
        width = size * box_inner
        # the convention between Triton's code generation and this function
        swizzle = 3 if width >= 128 else 2 if width >= 64 else 1
        box = [min(box_inner, 128 // size) if size in (1, 2, 4) else box_inner, box_outer]
        strides = [inner * size, inner * outer * size]
        self._encode(target, address, [inner, outer], strides, box, size, swizzle, promotion=2)

    def _encode(
        self, target: Any, address: int, dims: list[int], strides: list[int], box: list[int],
        size: int, swizzle: int, promotion: int,
    ) -> None:  # fmt: skip
        if size not in (1, 2, 4):
            raise ValueError("elementSize must be 1, 2, or 4")
        kind = {1: 0, 2: 1, 4: 2}[size]
        place = target if isinstance(target, int) else _address(target)
        self._driver(
            "cuTensorMapEncodeTiled", place, kind, len(dims), address, _u64(dims), _u64(strides),
            _u32(box), _u32([1] * len(dims)), 0, swizzle, promotion, 0,
        )  # fmt: skip

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
        box = _reversed(block, "blockSize", "block size", None)
        dims = _reversed(shape, "shape", "shape", len(box))
        steps = _reversed(strides, "strides", "shape", len(box), 1)
        lengths = _strides(dims, steps, size)
        status = self._driver.status(
            "cuTensorMapEncodeTiled", target, kind, len(box), address, _u64(dims), _u64(lengths),
            _u32(box), _u32([1] * len(box)), 0, swizzle, 2, 1 if padding == 1 else 0,
        )  # fmt: skip
        if status and "Failed to create tensor map descriptor" not in self._text:
            self._driver.check(status)
        if status:
            shown = lengths if "i + 2 < rank" not in self._text else lengths[:-1]
            fill = f" fill={1 if padding == 1 else 0}" if "fill=%d" in self._text else ""
            raise RuntimeError(
                f"Triton Error [CUDA]: Failed to create tensor map descriptor: "
                f"{self._driver.error_text(status)}\n"
                f"elemType={kind} rank={len(box)} global_address=0x{address:x} elemSize={size} "
                f"swizzle={swizzle} padding={padding}\n"
                f"shape={dims}\nstrides={shown}\nblockSize={box} "
                f"elementStrides={[1] * len(box)}{fill}\n"
            )
        return dims, lengths

    def fill_tma_descriptor_im2col(self, *row: Any) -> TensorMap:
        address, swizzle, size, kind, block, shape, strides, padding, low, high, *rest = row
        dims = _reversed(shape, "shape", "shape", None)
        box = _reversed(block, "blockSize", "block size", None)
        if len(rest) == 1 and len(box) != 2:  # 3.7 has both numbers as arguments
            raise RuntimeError("blockSize must have exactly 2 dimensions for im2col")
        if len(_sequence(strides, "strides")) != len(dims):
            raise RuntimeError(
                f"Rank mismatch for strides in fillTMADescriptorIm2col: shape has rank "
                f"{len(dims)} but strides has {len(strides)} elements. "
                f"Expected strides to have {len(dims)} elements."
            )
        lengths = _strides(dims, _reversed(strides, "strides", "strides", len(dims), 1), size)
        lower = _corner(low, "pixelBoxLower")
        if len(lower) > 5:
            raise RuntimeError("Pixel box rank too large (max 5)")
        upper = _corner(high, "pixelBoxUpper")
        if len(lower) != len(upper):
            raise RuntimeError("Pixel box corner rank mismatch")
        steps = _corner(rest[-1], "elementStrides")
        if len(steps) != len(dims):
            raise RuntimeError("elementStrides length must match tensor rank")
        channels, pixels = rest[:2] if len(rest) == 3 else box
        memory = _aligned(128)
        status = self._driver.status(
            "cuTensorMapEncodeIm2col", _address(memory), kind, len(dims), address, _u64(dims),
            _u64(lengths), _i32(lower), _i32(upper), channels, pixels, _u32(steps), 0, swizzle, 2,
            1 if padding == 1 else 0,
        )  # fmt: skip
        if status:
            raise RuntimeError(
                f"Triton Error [CUDA]: Failed to create im2col tensor map descriptor: "
                f"{self._driver.error_text(status)}\n"
                f"elemType={kind} rank={len(dims)} global_address=0x{address:x} elemSize={size} "
                f"swizzle={swizzle} padding={padding} channelsPerPixel={channels} "
                f"pixelsPerColumn={pixels}\n"
                f"shape={dims}\nstrides={lengths}\nblockSize={box}\n"
                f"pixelBoxLower={lower} pixelBoxUpper={upper}\nelementStrides={steps}\n"
            )
        return _tensor_map(memory)


def _sequence(value: Any, name: str) -> list[Any]:
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a sequence") from None


def _reversed(value: Any, name: str, item: str, rank: int | None, skip_last: int = 0) -> list[int]:
    """The integers of a sequence, the last one first.

    Raises:
        TypeError, RuntimeError: it is no sequence of integers, or not of `rank` ones.
    """
    items = _sequence(value, name)
    if rank is not None and len(items) != rank:
        raise RuntimeError("Rank mismatch")
    return _integers(items[: len(items) - skip_last], f"{item} must be an int")[::-1]


def _integers(items: Sequence[Any], message: str) -> list[int]:
    """Plain integers; TypeError where one is of another type."""
    if not all(isinstance(each, int) for each in items):
        raise TypeError(message)
    return [int(each) for each in items]


def _corner(value: Any, name: str) -> list[int]:
    return _integers(_sequence(value, name), f"{name} elements must be int")[::-1]


def _strides(dims: list[int], steps: list[int], size: int) -> list[int]:
    """Strides in bytes; the last one, of the whole tensor, is not asked for."""
    lengths = [size * step for step in steps]
    return [*lengths, dims[-1] * (lengths[-1] if lengths else size)]


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
