"""AMD's cards: kernels are compiled for a chip, the helper is loaded, and a kernel is launched.

No torch is needed: memory comes from AMD's runtime by ctypes. It never ran on a card.
"""

from __future__ import annotations

import array
import ctypes
import os
import types
from typing import Any

import triton
import triton.language as tl
from compile_cubin import KERNELS
from device import NOT_COMPUTED
from triton.backends.amd import driver
from triton.backends.compiler import GPUTarget

ADDED = 100_003  # a length that fits no block
BLOCK = 128  # of the kernel `add`
GUARD = 1000  # elements behind the vector that must stay as they are
UNTOUCHED = -7.25
_ELF = b"\x7fELF"
_TO_DEVICE, _TO_HOST = 1, 2  # hipMemcpyKind


@triton.jit
def product(x_ptr, y_ptr, out_ptr):
    rows = tl.arange(0, 32)[:, None]
    columns = tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + rows * 32 + columns)
    y = tl.load(y_ptr + rows * 32 + columns)
    tl.store(out_ptr + rows * 32 + columns, tl.dot(x, y))


MADE = {**KERNELS, "dot": (product, {"x_ptr": "*fp16", "y_ptr": "*fp16", "out_ptr": "*fp32"})}


def compiled_for(chip: str, name: str) -> tuple[Any, Any]:
    """The source and what Triton makes of it: waves have 64 threads up to gfx9, then 32."""
    kernel, types_of = MADE[name]
    source = triton.compiler.ASTSource(fn=kernel, signature=types_of)
    wave = 64 if len(chip) < len("gfx1000") else 32
    return source, triton.compile(source, target=GPUTarget("hip", chip, wave))


def compile_hsaco(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    chip, figures = arguments["chip"], {}
    for name in ("add", "dot"):
        _, compiled = compiled_for(chip, name)
        code = compiled.asm["hsaco"]
        if not code.startswith(_ELF) or chip.encode() not in code:
            raise RuntimeError(f"{name}: no code object for {chip}: {code[:16]!r}")
        figures[f"{name}, bytes"] = len(code)
        figures[f"{name}, lines of assembly"] = compiled.asm["amdgcn"].count("\n")
    sizes = f"{figures['add, bytes']} and {figures['dot, bytes']} bytes"
    return f"{chip}: code objects of {sizes}", {"chip": chip, **figures}


def in_python() -> bool:
    """True where tritonwin's driver replaces the module that Triton would compile."""
    names = ("compile_module_from_src", "compile_module_from_file")
    owners = (getattr(getattr(driver, name, None), "__module__", "") for name in names)
    return any(owner.startswith("_tritonwin_driver") for owner in owners)


def helper() -> tuple[str, dict[str, Any]]:
    utils = driver.HIPUtils()
    library = driver._get_path_to_hip_runtime_dylib()
    properties = utils.get_device_properties(0)
    made = "in Python (tritonwin driver)" if in_python() else "built and loaded"
    said = {"library": library, **{name: str(value) for name, value in properties.items()}}
    return f"hip_utils is {made}; the first device is {properties.get('arch')}", said


class Runtime:
    """The library that Triton uses, and memory of its first device."""

    def __init__(self) -> None:
        path = driver._get_path_to_hip_runtime_dylib()
        # on Windows: what it needs lies beside it
        self.library = ctypes.CDLL(path, winmode=0x1100 if os.name == "nt" else None)
        self.computes = not hasattr(self.library, "tritonwin_stand_in")
        self.call("hipInit", ctypes.c_uint(0))
        self.call("hipSetDevice", ctypes.c_int(0))

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: HIP error {status}")

    def copy(self, to: Any, source: Any, size: int, kind: int) -> None:
        sides = (ctypes.c_void_p(to), ctypes.c_void_p(source))
        self.call("hipMemcpy", *sides, ctypes.c_size_t(size), ctypes.c_int(kind))


class Vector:
    """Floats on the device, with what Triton's launcher asks of a tensor."""

    dtype = "fp32"
    is_cuda = True

    def __init__(self, runtime: Runtime, content: array.array[float]) -> None:
        self._runtime, self._size = runtime, len(content) * 4
        pointer = ctypes.c_void_p()
        runtime.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(self._size))
        self._pointer = pointer.value or 0
        runtime.copy(self._pointer, content.buffer_info()[0], self._size, _TO_DEVICE)

    def data_ptr(self) -> int:
        return self._pointer

    def read(self) -> array.array[float]:
        found = array.array("f", bytes(self._size))
        self._runtime.call("hipDeviceSynchronize")
        self._runtime.copy(found.buffer_info()[0], self._pointer, self._size, _TO_HOST)
        return found


def launch(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    runtime, utils = Runtime(), driver.HIPUtils()
    active = types.SimpleNamespace(utils=utils, get_current_device=lambda: 0)
    triton.runtime.driver.set_active(active)
    source, compiled = compiled_for(arguments["chip"], "add")
    about = compiled.metadata
    loaded = utils.load_binary(about.name, compiled.asm["hsaco"], about.shared, 0)
    one = array.array("f", [i * 0.1 for i in range(ADDED)])
    two = array.array("f", [1e6 / (i + 1) for i in range(ADDED)])
    x, y = Vector(runtime, one), Vector(runtime, two)
    out = Vector(runtime, array.array("f", [UNTOUCHED] * (ADDED + GUARD)))
    grid = ((ADDED + BLOCK - 1) // BLOCK, 1, 1)
    run = driver.HIPLauncher(source, about)
    run(*grid, 0, loaded[1], compiled.packed_metadata, None, None, None, x, y, out, ADDED)
    # the sum of two floats in Python's doubles, rounded once, is the correctly rounded sum
    wanted = array.array("f", [a + b for a, b in zip(one, two)])
    wanted.extend([UNTOUCHED] * GUARD)
    wrong = sum(a != b for a, b in zip(out.read(), wanted))
    if not runtime.computes:
        return NOT_COMPUTED, {"numbers": "not checked"}
    if wrong:
        raise AssertionError(f"{wrong} of {ADDED + GUARD} numbers are wrong")
    return f"{ADDED} sums right bit for bit, {GUARD} beyond untouched", {"numbers": "right"}
