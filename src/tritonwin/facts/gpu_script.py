"""Ask a driver's libraries about the GPUs; print the answer between two cookies.

Started by `tritonwin.facts.gpu` as `python -I -B - COOKIE NVML CUDA HIP` with this text on standard
input; NVML, CUDA and HIP are what to load, or "-". It runs in a process of its own because a broken
driver crashes or hangs who asks. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

TEXT = 96  # NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest of the texts
HIP_PROPERTIES = 1472  # bytes of hipDeviceProp_tR0600, of HIP 6 and 7
COMPUTE_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR


class DriverError(Exception):
    """A function of a driver library reported an error, or does not exist."""


class Library:
    """A driver library whose functions return 0 for success."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)

    def call(self, name: str, *args: Any) -> None:
        function = getattr(self.library, name, None)
        if function is None:
            raise DriverError(f"{name}: no such function")
        status = function(*args)
        if status:
            raise DriverError(f"{name}: error {status}")

    def number(self, name: str, *args: Any) -> int:
        value = c_int()
        self.call(name, byref(value), *args)
        return value.value


class NvmlMemory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = [("total", c_uint64), ("free", c_uint64), ("used", c_uint64)]


def optional(function: Callable[..., Any], *args: Any) -> Any:
    """None where a library is too old to say."""
    try:
        return function(*args)
    except DriverError:
        return None


def cuda_version(number: int | None) -> str | None:
    """12080 is 12.8, as in cuDriverGetVersion."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def nvml_text(nvml: Library, name: str, *args: Any) -> str:
    buffer = ctypes.create_string_buffer(TEXT)
    nvml.call(name, *args, buffer, c_uint(TEXT))
    return buffer.value.decode("utf-8", "replace")


def nvml_capability(nvml: Library, device: c_void_p) -> str:
    major, minor = c_int(), c_int()
    nvml.call("nvmlDeviceGetCudaComputeCapability", device, byref(major), byref(minor))
    return f"{major.value}.{minor.value}"


def nvml_memory(nvml: Library, device: c_void_p) -> int:
    memory = NvmlMemory()
    nvml.call("nvmlDeviceGetMemoryInfo", device, byref(memory))
    return int(memory.total)


def ask_nvml(answer: dict[str, Any]) -> None:
    nvml = Library(answer["source"])
    nvml.call("nvmlInit_v2")
    gpus = []
    for index in range(nvml.number("nvmlDeviceGetCount_v2")):
        device = c_void_p()
        nvml.call("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(device))
        gpus.append(
            {
                "name": nvml_text(nvml, "nvmlDeviceGetName", device),
                "compute_capability": optional(nvml_capability, nvml, device),
                "memory_bytes": optional(nvml_memory, nvml, device),
            }
        )
    answer["version"] = optional(nvml_text, nvml, "nvmlSystemGetDriverVersion")
    answer["cuda"] = cuda_version(optional(nvml.number, "nvmlSystemGetCudaDriverVersion_v2"))
    answer["gpus"] = gpus


def cuda_name(cuda: Library, device: int) -> str:
    buffer = ctypes.create_string_buffer(TEXT)
    cuda.call("cuDeviceGetName", buffer, c_int(TEXT), c_int(device))
    return buffer.value.decode("utf-8", "replace")


def cuda_capability(cuda: Library, device: int) -> str:
    numbers = (
        cuda.number("cuDeviceGetAttribute", c_int(what), c_int(device))
        for what in COMPUTE_CAPABILITY
    )
    return ".".join(map(str, numbers))


def cuda_memory(cuda: Library, device: int) -> int:
    size = c_size_t()
    cuda.call("cuDeviceTotalMem_v2", byref(size), c_int(device))
    return size.value


def ask_cuda(answer: dict[str, Any]) -> None:
    cuda = Library(answer["source"])
    # known without a GPU
    answer["cuda"] = cuda_version(optional(cuda.number, "cuDriverGetVersion"))
    cuda.call("cuInit", c_uint(0))
    for index in range(cuda.number("cuDeviceGetCount")):
        device = cuda.number("cuDeviceGet", c_int(index))
        answer["gpus"].append(
            {
                "name": cuda_name(cuda, device),
                "compute_capability": optional(cuda_capability, cuda, device),
                "memory_bytes": optional(cuda_memory, cuda, device),
            }
        )


def ask_hip(answer: dict[str, Any]) -> None:
    hip = Library(answer["source"])
    number = optional(hip.number, "hipDriverGetVersion")  # 60342133 is 6.3
    answer["hip"] = f"{number // 10**7}.{number % 10**7 // 10**5}" if number else None
    for index in range(hip.number("hipGetDeviceCount")):
        properties = ctypes.create_string_buffer(HIP_PROPERTIES)
        hip.call("hipGetDevicePropertiesR0600", properties, c_int(index))
        name, chip = (struct.unpack_from("256s", properties, at)[0] for at in (0, 1160))
        memory, integrated = struct.unpack_from("<Q100xi", properties, 288)
        answer["gpus"].append(
            {
                "name": name.partition(b"\0")[0].decode("utf-8", "replace"),
                # gfx90a:sramecc+:xnack-
                "architecture": chip.partition(b"\0")[0]
                .decode("ascii", "replace")
                .partition(":")[0],
                "integrated": bool(integrated),
                "memory_bytes": memory,
            }
        )


def main(argv: list[str]) -> None:
    cookie, *paths = argv[1:5]
    # before the drivers start, since they decide which GPUs they show, and as what
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"):
        os.environ.pop(name, None)
    answer: dict[str, Any] = {"source": "System32", "error": "no library to ask", "gpus": []}
    for ask, path in zip((ask_nvml, ask_cuda, ask_hip), paths, strict=True):
        if path == "-":
            continue
        answer = {"source": path, "error": None, "gpus": []}
        try:
            ask(answer)
            break
        except (OSError, DriverError) as error:
            answer["error"] = str(error)
    data = (cookie + json.dumps(answer) + cookie[::-1]).encode("ascii")
    while data:
        data = data[os.write(1, data) :]
    # a driver's own clean-up may hang
    os._exit(0)


main(sys.argv)
