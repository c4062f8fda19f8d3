"""Times of kernels and of the processor, for the programs of `tritonwin bench`.

Standard library only, valid on Python 3.8 and later. The GPU's times are between two events of the
driver API on the default stream, where Triton and torch launch.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from typing import Any, Callable

_WARM_UP = 0.2  # seconds, in which the clocks of an idle GPU rise
_SAMPLE = 0.01  # seconds of GPU work between two events: their resolution is 0.5 us


class Stopwatch:
    """Needs a current CUDA context: make a `device.Device` first."""

    def __init__(self) -> None:
        self._driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        self._events = (self._event(), self._event())

    def kernel(self, launch: Callable[[], Any], samples: int = 20) -> float:
        """Median of the seconds that one launch keeps the GPU busy, launches back to back."""
        launch()
        one = self._batch(launch, 1)
        count = max(1, min(1000, int(_SAMPLE / max(one, 1e-7))))
        until = time.perf_counter() + _WARM_UP
        while time.perf_counter() < until:
            self._batch(launch, count)
        return statistics.median(self._batch(launch, count) for _ in range(samples))

    def _batch(self, launch: Callable[[], Any], count: int) -> float:
        start, end = self._events
        self._call("cuEventRecord", start, None)
        for _ in range(count):
            launch()
        self._call("cuEventRecord", end, None)
        self._call("cuEventSynchronize", end)
        milliseconds = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value / 1000 / count

    def host(self, launch: Callable[[], Any], count: int = 500, samples: int = 15) -> float:
        """Median of the seconds that the processor needs for one launch, the GPU never behind."""
        times = []
        launch()
        for _ in range(samples):
            self._call("cuCtxSynchronize")
            start = time.perf_counter()
            for _ in range(count):
                launch()
            times.append((time.perf_counter() - start) / count)
        return statistics.median(times)

    def _event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event

    def _call(self, function: str, *arguments: Any) -> None:
        status = getattr(self._driver, function)(*arguments)
        if status:
            raise RuntimeError(f"{function}: CUDA error {status}")
