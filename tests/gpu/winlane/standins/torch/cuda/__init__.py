"""The first device, asked of CUDA's driver on Windows and on Linux."""

import ctypes
import os
from types import SimpleNamespace

_driver = ctypes.WinDLL("nvcuda.dll") if os.name == "nt" else ctypes.CDLL("libcuda.so.1")
_default_stream = SimpleNamespace(cuda_stream=0)


def is_available():
    return _driver.cuInit(0) == 0


def device_count():
    count = ctypes.c_int()
    _driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value


def get_device_capability(device=0):
    numbers = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        number = ctypes.c_int()
        _driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, 0)
        numbers.append(number.value)
    return tuple(numbers)


def current_device():
    return 0


def set_device(device):
    pass


def current_stream(device=None):
    return _default_stream
