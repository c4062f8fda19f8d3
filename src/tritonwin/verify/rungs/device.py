"""Memory of the GPU, for rungs: through the driver by ctypes, whether there is a torch or not.

Standard library only (numpy may be absent), valid on Python 3.8 and later. What Triton's launcher
asks of an argument is a `dtype` and a `data_ptr()`.
"""

from __future__ import annotations

import array
import ctypes
import os
from typing import Any, Callable, Iterable

# Triton's names of number formats: the code of the array module, bytes an element
FORMATS = {
    "i8": ("b", 1),
    "i32": ("i", 4),
    "i64": ("q", 8),
    "fp16": ("H", 2),  # as bits
    "bf16": ("H", 2),
    "fp32": ("f", 4),
    "fp8e4nv": ("B", 1),
    "fp8e5": ("B", 1),
}
NOT_COMPUTED = "launched, but this driver is a stand-in that computes nothing: no number is checked"


def values(dtype: str, content: Iterable[float]) -> array.array[Any]:
    """The numbers as they lie in memory; formats that Python lacks are given as bits."""
    return array.array(FORMATS[dtype][0], content)


class Buffer:
    """A vector on the GPU, with what Triton's launcher asks of a tensor."""

    def __init__(self, device: Device, dtype: str, count: int) -> None:
        self._device = device
        self.dtype = dtype
        self.count = count
        self.size = count * FORMATS[dtype][1]
        self._pointer = device.allocate(self.size)

    def data_ptr(self) -> int:
        return self._pointer

    def read(self, start: int = 0, count: int | None = None) -> array.array[Any]:
        """Elements from `start` on. Waits for what was launched before."""
        code, width = FORMATS[self.dtype]
        found = array.array(code, bytes((self.count if count is None else count) * width))
        self._device.download(self._pointer + start * width, found)
        return found

    def write(self, content: array.array[Any], start: int = 0) -> None:
        self._device.upload(content, self._pointer + start * FORMATS[self.dtype][1])


def load_driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")


def computes(driver: ctypes.CDLL) -> bool:
    """False for a stand-in driver, which says so by an export."""
    return not hasattr(driver, "tritonwin_stand_in")


class Device:
    """The first GPU."""

    def __init__(self) -> None:
        self._driver = load_driver()
        self.computes = computes(self._driver)
        # Triton's launcher takes the current context; this one is torch's, too
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def empty(self, dtype: str, count: int) -> Buffer:
        return Buffer(self, dtype, count)

    def upload_new(self, dtype: str, content: Iterable[float]) -> Buffer:
        """A new vector with these numbers (see `values`)."""
        data = values(dtype, content)
        made = Buffer(self, dtype, len(data))
        made.write(data)
        return made

    def free_memory(self) -> int:
        """Bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def synchronize(self) -> None:
        """Wait; an error of a kernel that was launched shows here."""
        from probe_runner import KnownError

        try:
            self.call("cuCtxSynchronize")
        except RuntimeError as error:
            text = f"a kernel that was launched died: {str(error).splitlines()[0]}"
            raise KnownError(text, "async-cuda-error-blames-triton") from error

    def allocate(self, size: int) -> int:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def upload(self, content: array.array[Any], pointer: int) -> None:
        address, length = content.buffer_info()
        self._copy(pointer, address, length * content.itemsize, to_device=True)

    def download(self, pointer: int, into: array.array[Any]) -> None:
        address, length = into.buffer_info()
        self._copy(address, pointer, length * into.itemsize, to_device=False)

    def _copy(self, to: int, source: int, size: int, *, to_device: bool) -> None:
        self.synchronize()
        sides: Any = (ctypes.c_uint64, ctypes.c_void_p)
        name = "cuMemcpyHtoD_v2" if to_device else "cuMemcpyDtoH_v2"
        target, origin = sides if to_device else sides[::-1]
        self.call(name, target(to), origin(source), ctypes.c_size_t(size))

    def error_name(self, status: int) -> str:
        name = ctypes.c_char_p()
        self._driver.cuGetErrorName(status, ctypes.byref(name))
        return (name.value or b"?").decode("ascii", "replace")

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status:
            raise RuntimeError(f"{function}: CUDA error {status} ({self.error_name(status)})")


def first_device() -> Device:
    """The first GPU, for what launches kernels.

    Triton finds it before torch is imported: 3.8 asks a torch that is there, which may be one
    without CUDA.
    """
    import triton

    triton.runtime.driver.active.get_current_target()
    return Device()


def report(device: Device, detail: str, wrong: int) -> tuple[str, dict[str, Any]]:
    """The result of a rung after its numbers were compared: `wrong` of them differ.

    Raises:
        AssertionError: some do, on a device that computes.
    """
    if not device.computes:
        return NOT_COMPUTED, {"numbers": "not checked"}
    if wrong:
        raise AssertionError(f"{wrong} numbers are wrong: {detail}")
    return detail, {"numbers": "right"}


# -- a sum of two vectors: a length that fits no block; every bit, and what lies beyond, is compared

ADDED = 100_003
GUARD = 1000  # elements behind the vector that must stay as they are
UNTOUCHED = -7.25


def check_sum(device: Device, add: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """The result of a rung whose `add` takes two vectors, one for their sum, and its length."""
    # products that have no short binary form, so that a wrong rounding would show
    one = values("fp32", [i * 0.1 for i in range(ADDED)])
    two = values("fp32", [1e6 / (i + 1) for i in range(ADDED)])
    x, y = device.upload_new("fp32", one), device.upload_new("fp32", two)
    out = device.upload_new("fp32", [UNTOUCHED] * (ADDED + GUARD))
    add(x, y, out, ADDED)
    # the sum of two floats in Python's doubles, rounded once, is the correctly rounded sum
    wanted = values("fp32", [a + b for a, b in zip(one, two)])
    wanted.extend([UNTOUCHED] * GUARD)
    wrong = sum(a != b for a, b in zip(out.read(), wanted))
    return report(device, f"{ADDED} sums right bit for bit, {GUARD} beyond untouched", wrong)
