"""Ask a driver's libraries about the GPUs; print the answer between two cookies.

Started by `tritonwin.facts.gpu` as `python -I -B - COOKIE KIND LIBRARY` with this text on standard
input; KIND is "nvml" or "hip". It runs in a process of its own because a broken driver crashes or
hangs who asks. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable
from ctypes import byref, c_int, c_uint, c_uint64, c_void_p
from typing import Any

TEXT = 96  # NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest of the texts
HIP_PROPERTIES = 1472  # bytes of hipDeviceProp_tR0600, of HIP 6 and 7


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


def ask_nvml(nvml: Library, answer: dict[str, Any]) -> None:
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


def ask_hip(hip: Library, answer: dict[str, Any]) -> None:
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
    cookie, kind, path = argv[1:4]
    # before the drivers start, since they decide which GPUs they show, and as what
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"):
        os.environ.pop(name, None)
    answer: dict[str, Any] = {"error": None, "gpus": []}
    try:
        (ask_nvml if kind == "nvml" else ask_hip)(Library(path), answer)
    except (OSError, DriverError) as error:
        answer["error"] = str(error)
    data = (cookie + json.dumps(answer) + cookie[::-1]).encode("ascii")
    while data:
        data = data[os.write(1, data) :]
    # a driver's own clean-up may hang
    os._exit(0)


main(sys.argv)
