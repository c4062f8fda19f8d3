"""Runs inside Windows: which of the driver's libraries load."""

import ctypes


def state(name):
    try:
        ctypes.WinDLL(name)
    except FileNotFoundError:
        return "missing"
    return "found"


print(state("nvcuda.dll"), state("nvml.dll"))
