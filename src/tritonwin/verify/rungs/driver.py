"""Ask Triton which driver is active and which GPU it compiles for, and the driver what there is."""

from __future__ import annotations

import ctypes
from typing import Any

from device import Device, first_device


def devices(device: Device) -> tuple[int, str, str]:
    """The number of GPUs, the first one's name and compute capability, by the driver itself."""
    count, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(256)
    device.call("cuDeviceGetCount", ctypes.byref(count))
    device.call("cuDeviceGetName", name, len(name), 0)
    device.call("cuDeviceGetAttribute", ctypes.byref(major), 75, 0)
    device.call("cuDeviceGetAttribute", ctypes.byref(minor), 76, 0)
    return count.value, name.value.decode("utf-8", "replace"), f"{major.value}.{minor.value}"


def prove() -> tuple[str, dict[str, Any]]:
    import triton

    device = first_device()
    target = triton.runtime.driver.active.get_current_target()
    count, name, capability = devices(device)
    if target.backend != "cuda":
        raise RuntimeError(f"Triton's active driver is {target.backend!r}, not CUDA's")
    if str(target.arch) != capability.replace(".", ""):
        raise RuntimeError(f"Triton compiles for sm_{target.arch}, the GPU has {capability}")
    said = f"{count} device(s), the first: {name}, sm_{target.arch}"
    if not device.computes:
        said += " (a stand-in driver that computes nothing)"
    return said, {
        "devices": count,
        "name": name,
        "arch": target.arch,
        "stand-in": not device.computes,
    }
