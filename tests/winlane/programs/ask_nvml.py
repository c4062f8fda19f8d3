"""Runs inside Windows: what NVML says of the second device."""

import ctypes
import json

nvml = ctypes.WinDLL("nvml.dll")
nvml.nvmlErrorString.restype = ctypes.c_char_p


class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def ask(function, *arguments):
    code = getattr(nvml, function)(*arguments)
    assert code == 0, (function, code)


def text(function, *arguments):
    buffer = ctypes.create_string_buffer(96)
    ask(function, *arguments, buffer, 96)
    return buffer.value.decode()


assert nvml.nvmlDeviceGetCount_v2(None) == 1, "uninitialised until nvmlInit_v2"
ask("nvmlInit_v2")
count, cuda, major, minor = ctypes.c_uint(), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
device, memory = ctypes.c_void_p(), Memory()
ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
ask("nvmlSystemGetCudaDriverVersion_v2", ctypes.byref(cuda))
ask("nvmlDeviceGetHandleByIndex_v2", 1, ctypes.byref(device))
ask("nvmlDeviceGetCudaComputeCapability", device, ctypes.byref(major), ctypes.byref(minor))
ask("nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
print(
    json.dumps(
        {
            "driver": text("nvmlSystemGetDriverVersion"),
            "cuda": cuda.value,
            "count": count.value,
            "name": text("nvmlDeviceGetName", device),
            "uuid": text("nvmlDeviceGetUUID", device),
            "capability": [major.value, minor.value],
            "memory": memory.total,
            "error": nvml.nvmlErrorString(18).decode(),
        }
    )
)
ask("nvmlShutdown")
