"""Seconds of the processor for one launch of a kernel that does nothing."""

from __future__ import annotations

import time
from typing import Any

import triton
from bench_kernels import nothing
from device import Device
from stopwatch import Stopwatch


def prove() -> tuple[str, dict[str, Any]]:
    device = Device()
    buffers = [device.empty("fp32", 1024) for _ in range(3)]
    start = time.perf_counter()
    triton.runtime.driver.active.get_current_target()
    built = time.perf_counter() - start
    seconds = Stopwatch().host(lambda: nothing[(1,)](*buffers, 1024))
    device.synchronize()
    figures = {"launch_us": round(seconds * 1e6, 2), "helper_module_s": round(built, 3)}
    return f"{seconds * 1e6:.1f} us a launch", figures
