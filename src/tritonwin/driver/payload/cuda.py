"""`cuda_utils` in Python: NVIDIA's driver through ctypes.

Numbers and structures are those of cuda.h. Which of the functions exist, and with which arguments,
the release's own `driver.c` says.
"""

from __future__ import annotations

import ctypes
import os
import struct
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

from tritonwin.driver.payload.api import Api
from tritonwin.driver.payload.descriptors import TensorMap, TensorMaps
from tritonwin.driver.payload.packed import Packed
from tritonwin.driver.payload.sources import DriverSource, check_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace
    from typing import Any

_DEVICE_POINTER = 3  # of cuPointerGetAttribute
# of cuDeviceGetAttribute
_PROPERTIES = {
    "max_shared_mem": 97, "max_num_regs": 12, "multiprocessor_count": 16, "warpSize": 10,
    "sm_clock_rate": 13, "mem_clock_rate": 36, "mem_bus_width": 37,
}  # fmt: skip
_MAJOR, _MINOR, _SHARED_OPTIN = 75, 76, 97
# of cuFuncGetAttribute and cuFuncSetAttribute
_MAX_THREADS, _STATIC_SHARED, _LOCAL, _REGISTERS, _DYNAMIC_SHARED = 0, 1, 3, 4, 8
_LARGE_CLUSTERS = 14
_PREFER_SHARED, _PRINTF_FIFO, _CLUSTER_DIMENSION = 1, 1, 4
_USUAL_SHARED = 48 * 1024

_LIBRARY = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"
_SIGNATURES: dict[str, Sequence[Any]] = {
    "cuGetErrorString": (c_int, c_void_p),
    "cuDeviceGet": (c_void_p, c_int),
    "cuDeviceGetAttribute": (c_void_p, c_int, c_int),
    "cuCtxGetCurrent": (c_void_p,),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxGetDevice": (c_void_p,),
    "cuCtxGetLimit": (c_void_p, c_int),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuDevicePrimaryCtxRetain": (c_void_p, c_int),
    "cuModuleLoadData": (c_void_p, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "cuFuncGetAttribute": (c_void_p, c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuFuncSetCacheConfig": (c_void_p, c_int),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "cuDriverGetVersion": (c_void_p,),
    "cuStreamIsCapturing": (c_void_p, c_void_p),
    "cuOccupancyMaxActiveClusters": (c_void_p, c_void_p, c_void_p),
    "cuTensorMapEncodeTiled": (c_void_p, c_int, c_uint, c_uint64, c_void_p, c_void_p, c_void_p,
                               c_void_p, c_int, c_int, c_int, c_int),
    "cuTensorMapEncodeIm2col": (c_void_p, c_int, c_uint, c_uint64, c_void_p, c_void_p, c_void_p,
                                c_void_p, c_uint, c_uint, c_void_p, c_int, c_int, c_int, c_int),
}  # fmt: skip


class CudaDriver(Api):
    """The driver's functions as a launch needs them."""

    configured = True
    signatures = _SIGNATURES
    lacks = f"Failed to retrieve {{}} from {_LIBRARY}"

    def __init__(self) -> None:
        # on Windows from its own folder alone, where the driver's installer puts it
        super().__init__(_LIBRARY, 0x800)
        # neither types nor errors are looked at in the call that counts
        self.launch = self.named("cuLaunchKernelEx")

    def error_text(self, status: int) -> str:
        text = c_char_p()
        self.status("cuGetErrorString", status, byref(text))
        return (text.value or f"unknown error {status}".encode()).decode(errors="replace")

    def failure(self, status: int) -> str:
        return f"Triton Error [CUDA]: {self.error_text(status)}"

    def attribute(self, which: int, device: int) -> int:
        return self.integer("cuDeviceGetAttribute", which, device)

    def ensure_context(self, device: int | None = None) -> None:
        """Make a device's primary context current where this thread has none."""
        if not self.integer("cuCtxGetCurrent", cell=c_void_p):
            if device is None:
                device = self.integer("cuDeviceGet", 0)
            self.use_device(device)

    def use_device(self, device: int) -> None:
        context = self.integer("cuDevicePrimaryCtxRetain", device, cell=c_void_p)
        self("cuCtxSetCurrent", context)

    def device_pointer(self, address: int) -> tuple[int, int]:
        """The result of asking for the device's address, and that address."""
        found = c_uint64()
        status = self.status("cuPointerGetAttribute", byref(found), _DEVICE_POINTER, address)
        return status, found.value

    def allow_large_clusters(self, function: int) -> None:
        self("cuFuncSetAttribute", function, _LARGE_CLUSTERS, 1)

    @staticmethod
    def has_blocks(grid: Sequence[int]) -> bool:
        return grid[0] * grid[1] * grid[2] > 0


class CudaUtils(TensorMaps, Packed):
    """The functions of `cuda_utils`, as Triton calls them."""

    # -- devices

    def get_device_properties(self, number: int) -> dict[str, int]:
        device = self._driver.integer("cuDeviceGet", number)
        return {name: self._driver.attribute(which, device) for name, which in _PROPERTIES.items()}

    def get_device_capability(self, number: int) -> tuple[int, int]:
        device = self._driver.integer("cuDeviceGet", number)
        return self._driver.attribute(_MAJOR, device), self._driver.attribute(_MINOR, device)

    def get_current_device(self) -> int:
        self._driver.ensure_context()
        device: int = self._driver.integer("cuCtxGetDevice")
        return device

    def set_current_device(self, number: int) -> None:
        self._driver.use_device(number)

    def get_default_stream(self, number: int) -> int:
        self._driver.use_device(number)
        return 0

    def is_stream_capturing(self, stream: int) -> bool:
        status = c_int()
        self._driver("cuStreamIsCapturing", stream, byref(status))
        return status.value != 0

    def set_printf_fifo_size(self, size: int) -> None:
        if size < 0:
            raise ValueError("fifo size must be non-negative")
        self._driver.ensure_context(0)
        # setting it after a kernel printed is an error, also where nothing changes
        if self._driver.integer("cuCtxGetLimit", _PRINTF_FIFO, cell=c_size_t) != size:
            self._driver("cuCtxSetLimit", _PRINTF_FIFO, size)

    # -- kernels

    def load_binary(self, name: bytes, data: Any, shared: int, device: int) -> tuple[int, ...]:
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'")
        driver = self._driver
        driver.ensure_context(device)
        module = driver.integer("cuModuleLoadData", bytes(data), cell=c_void_p)
        function = driver.integer("cuModuleGetFunction", module, name, cell=c_void_p)
        registers, local = self._of(function, _REGISTERS), self._of(function, _LOCAL)
        threads = self._of(function, _MAX_THREADS)
        self._allow_shared(function, shared, device)
        found = (module, function, registers, local // 4, threads)
        return found if '"(KKiii)"' in self._text else found[:4]

    def _of(self, function: int, which: int) -> int:
        found: int = self._driver.integer("cuFuncGetAttribute", which, function)
        return found

    def _allow_shared(self, function: int, shared: int, device: int) -> None:
        driver = self._driver
        optin = driver.attribute(_SHARED_OPTIN, device)
        if shared <= _USUAL_SHARED or optin <= _USUAL_SHARED:
            return
        driver("cuFuncSetCacheConfig", function, _PREFER_SHARED)
        own = self._of(function, _STATIC_SHARED)
        driver("cuFuncSetAttribute", function, _DYNAMIC_SHARED, optin - own)

    def unload_module(self, module: int) -> None:
        self._driver("cuModuleUnload", module)

    def cuOccupancyMaxActiveClusters(  # noqa: N802 - Triton's name
        self, function: int, shared: int, x: int, y: int = 1, z: int = 1
    ) -> int:
        self._driver("cuFuncSetAttribute", function, _DYNAMIC_SHARED, shared)
        attribute = ctypes.create_string_buffer(
            struct.pack(
                "<I4x3I52x", _CLUSTER_DIMENSION, x & 0xFFFFFFFF, y & 0xFFFFFFFF, z & 0xFFFFFFFF
            )
        )
        configuration = struct.pack(
            "<7I4xQQI4x", x & 0xFFFFFFFF, y & 0xFFFFFFFF, z & 0xFFFFFFFF, 128, 1, 1,
            shared & 0xFFFFFFFF, 0, ctypes.addressof(attribute), 1,
        )  # fmt: skip
        self._driver("cuFuncSetAttribute", function, _LARGE_CLUSTERS, 1)
        active: int = self._driver.integer("cuOccupancyMaxActiveClusters", function, configuration)
        return active


# the formats of each function that are understood here
_KNOWN: dict[str, tuple[str, ...]] = {
    "load_binary": ("ss#ii",),
    "unload_module": ("K",),
    "get_device_properties": ("i",),
    "get_device_capability": ("i",),
    "get_current_device": ("",),
    "set_current_device": ("i",),
    "get_default_stream": ("i",),
    "is_stream_capturing": ("K",),
    "cuOccupancyMaxActiveClusters": ("Kiiii", "Kii"),
    "set_printf_fifo_size": ("l",),
    "fill_1d_tma_descriptor": ("KKiiy*", "KKiiK"),
    "fill_2d_tma_descriptor": ("KKKiiiy*", "KKKiiiK"),
    "fill_tma_descriptor": ("KKiiiOOO", "KiiiOOOi", "KiiiOOO"),
    "fill_tma_descriptor_tiled": ("KiiiOOOi",),
    "fill_tma_descriptor_im2col": ("KiiiOOOiOOO", "KiiiOOOiOOiiO"),
    "build_signature_metadata": ("O",),
    "launch": ("iiiKKpp(iii)OOOOOOy*O",),
}


def check(module: DriverSource) -> None:
    """Check that each function of a `driver.c` is known here.

    Raises:
        UnknownDriverError: one is not.
    """
    check_functions(module, _KNOWN)


def utils(module: DriverSource, driver: CudaDriver) -> SimpleNamespace:
    """A namespace in the place of the compiled `cuda_utils`."""
    return CudaUtils(module, driver).namespace(PyCUtensorMap=TensorMap)
