"""AMD's cards: kernels are compiled for a chip, the helper is loaded, and a kernel is launched.

No torch is needed: memory comes from AMD's runtime by ctypes. It never ran on a card.
"""

from __future__ import annotations

import ctypes
import os
import types
from typing import Any

import triton
import triton.language as tl
from compile_cubin import KERNELS, compiled_kernel
from device import Device, check_sum, computes
from probe_runner import in_python
from triton.backends.amd import driver
from triton.backends.compiler import GPUTarget

BLOCK = 128  # of the kernel `add`
_ELF = b"\x7fELF"


@triton.jit
def product(x_ptr, y_ptr, out_ptr):
    rows = tl.arange(0, 32)[:, None]
    columns = tl.arange(0, 32)[None, :]
    x = tl.load(x_ptr + rows * 32 + columns)
    y = tl.load(y_ptr + rows * 32 + columns)
    tl.store(out_ptr + rows * 32 + columns, tl.dot(x, y))


KERNELS["dot"] = (product, {"x_ptr": "*fp16", "y_ptr": "*fp16", "out_ptr": "*fp32"})


def target(chip: str) -> GPUTarget:
    """Waves have 64 threads up to gfx9, then 32."""
    return GPUTarget("hip", chip, 64 if len(chip) < len("gfx1000") else 32)


def compile_hsaco(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    chip, figures = arguments["chip"], {}
    for name in ("add", "dot"):
        _, compiled = compiled_kernel(name, target(chip))
        code = compiled.asm["hsaco"]
        if not code.startswith(_ELF) or chip.encode() not in code:
            raise RuntimeError(f"{name}: no code object for {chip}: {code[:16]!r}")
        figures[f"{name}, bytes"] = len(code)
        figures[f"{name}, lines of assembly"] = compiled.asm["amdgcn"].count("\n")
    sizes = f"{figures['add, bytes']} and {figures['dot, bytes']} bytes"
    return f"{chip}: code objects of {sizes}", {"chip": chip, **figures}


def helper() -> tuple[str, dict[str, Any]]:
    utils = driver.HIPUtils()
    library = driver._get_path_to_hip_runtime_dylib()
    properties = utils.get_device_properties(0)
    made = "in Python (tritonwin driver)" if in_python(driver) else "built and loaded"
    said = {"library": library, **{name: str(value) for name, value in properties.items()}}
    return f"hip_utils is {made}; the first device is {properties.get('arch')}", said


class AmdDevice(Device):
    """The first device of the library that Triton uses."""

    def __init__(self) -> None:
        path = driver._get_path_to_hip_runtime_dylib()
        # on Windows: what it needs lies beside it
        self._driver = ctypes.CDLL(path, winmode=0x1100 if os.name == "nt" else None)
        self.computes = computes(self._driver)
        self.call("hipInit", ctypes.c_uint(0))
        self.call("hipSetDevice", ctypes.c_int(0))

    def synchronize(self) -> None:
        self.call("hipDeviceSynchronize")

    def allocate(self, size: int) -> int:
        pointer = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value or 0

    def _copy(self, to: int, source: int, size: int, *, to_device: bool) -> None:
        self.synchronize()
        kind = ctypes.c_int(1 if to_device else 2)  # hipMemcpyKind
        sides = (ctypes.c_void_p(to), ctypes.c_void_p(source))
        self.call("hipMemcpy", *sides, ctypes.c_size_t(size), kind)

    def call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status:
            raise RuntimeError(f"{function}: HIP error {status}")


def launch(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    device, utils = AmdDevice(), driver.HIPUtils()
    active = types.SimpleNamespace(utils=utils, get_current_device=lambda: 0)
    triton.runtime.driver.set_active(active)
    source, compiled = compiled_kernel("add", target(arguments["chip"]))
    about = compiled.metadata
    loaded = utils.load_binary(about.name, compiled.asm["hsaco"], about.shared, 0)
    run = driver.HIPLauncher(source, about)

    def add(x: Any, y: Any, out: Any, count: int) -> None:
        grid = ((count + BLOCK - 1) // BLOCK, 1, 1)
        run(*grid, 0, loaded[1], compiled.packed_metadata, None, None, None, x, y, out, count)

    return check_sum(device, add)
