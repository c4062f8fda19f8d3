"""`hip_utils` in Python: AMD's runtime through ctypes. It never ran on an AMD GPU.

Numbers and structures are those of hip_runtime_api.h of HIP 6.
"""

from __future__ import annotations

import ctypes
import re
import struct
from ctypes import byref, c_char_p, c_int, c_uint, c_uint64, c_void_p

from tritonwin.driver.payload.api import Api
from tritonwin.driver.payload.packed import Packed
from tritonwin.driver.payload.sources import DriverSource, UnknownDriverError, check_functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace
    from typing import Any

_DEVICE_POINTER = 3  # of hipPointerGetAttribute
# of hipFuncGetAttribute
_MAX_THREADS, _LOCAL, _REGISTERS = 0, 3, 4
# hipDeviceProp_tR0600: offset and form of what Triton asks for
_PROPERTIES_SIZE = 1472
_FIELDS = {
    "sharedMemPerBlock": (296, "Q"), "regsPerBlock": (304, "i"), "warpSize": (308, "i"),
    "clockRate": (348, "i"), "multiProcessorCount": (388, "i"), "memoryClockRate": (608, "i"),
    "memoryBusWidth": (612, "i"), "maxThreadsPerMultiProcessor": (624, "i"),
    "cooperativeLaunch": (688, "i"), "gcnArchName": (1160, "256s"),
}  # fmt: skip
_GRID = (c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint)
_SINGLE = (c_void_p, *_GRID, c_void_p, c_void_p, c_void_p)
_SIGNATURES: dict[str, Sequence[Any]] = {
    "hipGetLastError": (),
    "hipGetErrorString": (c_int,),
    "hipGetDevicePropertiesR0600": (c_void_p, c_int),
    "hipModuleLoadDataEx": (c_void_p, c_char_p, c_uint, c_void_p, c_void_p),
    "hipModuleUnload": (c_void_p,),
    "hipModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "hipFuncGetAttribute": (c_void_p, c_int, c_void_p),
    "hipPointerGetAttribute": (c_void_p, c_int, c_uint64),
    "hipModuleLaunchKernel": _SINGLE,
    "hipModuleLaunchCooperativeKernel": _SINGLE,
}


def library(source: str) -> str:
    """The path of the runtime that Triton wrote into its C text.

    Raises:
        RuntimeError: there is none.
    """
    found = re.search(r'hipLibSearchPaths\[\] = \{"(.*?)"\}', source)
    if found is None or "/*" in found[1]:
        raise RuntimeError("cannot open libamdhip64.so")
    return found[1].replace("\\\\", "\\")


class HipDriver(Api):
    """The runtime's functions as a launch needs them."""

    configured = False
    signatures = _SIGNATURES
    lacks = "cannot get address for '{}' from libamdhip64.so"

    def __init__(self, path: str) -> None:
        super().__init__(path, 0x1100)  # what it needs lies beside it
        self.named("hipGetErrorString").restype = c_char_p
        self.launch = self.named("hipModuleLaunchKernel")
        self.launch_cooperative = self.named("hipModuleLaunchCooperativeKernel")

    def failure(self, status: int) -> str:
        text = self.named("hipGetErrorString")(status) or b""
        return f"Triton Error [HIP]:  Code: {status}, Messsage: {text.decode(errors='replace')}"

    def device_pointer(self, address: int) -> tuple[int, int]:
        """The result of asking for the device's address, and that address."""
        found = c_uint64()
        status = self.status("hipPointerGetAttribute", byref(found), _DEVICE_POINTER, address)
        if status == 1:
            self.status("hipGetLastError")  # the runtime would report it again
        return status, found.value

    @staticmethod
    def ensure_context() -> None:
        """The runtime has a context in every thread."""

    @staticmethod
    def has_blocks(grid: Sequence[int]) -> bool:
        return grid[0] * grid[1] * grid[2] != 0


class HipUtils(Packed):
    """The functions of `hip_utils`, as Triton calls them."""

    def get_device_properties(self, number: int) -> dict[str, Any]:
        memory = ctypes.create_string_buffer(_PROPERTIES_SIZE)
        self._driver("hipGetDevicePropertiesR0600", memory, number)
        found = {}
        for name, field in re.findall(r'"(\w+)",\s*props\.(\w+)', self._text):
            offset, form = _FIELDS[field]
            (value,) = struct.unpack_from(f"<{form}", memory, offset)
            found[name] = value.split(b"\0")[0].decode() if form[-1] == "s" else value
        return found

    def load_binary(self, name: bytes, data: Any, *_: int) -> tuple[int, ...]:
        if not isinstance(data, (bytes, bytearray)):
            raise TypeError(f"a bytes-like object is required, not '{type(data).__name__}'")
        load = self._driver.integer
        module = load("hipModuleLoadDataEx", bytes(data), 0, None, None, cell=c_void_p)
        function = load("hipModuleGetFunction", module, name, cell=c_void_p)
        numbers = [self._of(function, which) for which in (_REGISTERS, _LOCAL, _MAX_THREADS)]
        numbers[1] //= 4
        found = (module, function, *numbers)
        return found if '"(KKiii)"' in self._text else found[:4]

    def _of(self, function: int, which: int) -> int:
        value = c_int()
        self._driver.status("hipFuncGetAttribute", byref(value), which, function)
        return value.value

    def unload_module(self, module: int) -> None:
        self._driver("hipModuleUnload", module)

    def create_tdm_descriptor(self, *_: Any) -> None:
        raise RuntimeError("tensor descriptors of gfx1250 need the compiled driver: driver off")


_KNOWN: dict[str, tuple[str, ...]] = {
    "load_binary": ("ss#ii",),
    "unload_module": ("K",),
    "get_device_properties": ("i",),
    "create_tdm_descriptor": ("", "iOiiiOOK"),  # from 3.7 on in a header
    "build_signature_metadata": ("O",),
    "launch": ("piiiKKO(iii)OOOiOy*O", "piiiKKOO(iii)OOOiOy*O"),
}


def check(module: DriverSource) -> None:
    """Check that each function and property of a `driver.c` is known here.

    Raises:
        UnknownDriverError: one is not.
    """
    check_functions(module, _KNOWN)
    for field in re.findall(r'"\w+",\s*props\.(\w+)', module.text):
        if field not in _FIELDS:
            raise UnknownDriverError(f"driver.c asks for the property {field}")


def utils(module: DriverSource, driver: HipDriver) -> SimpleNamespace:
    """A namespace in the place of the compiled `hip_utils`."""
    return HipUtils(module, driver).namespace(PyTDMDescriptor=None)
