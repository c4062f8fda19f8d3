"""Bytes a second that a sum of two long vectors moves, by Triton and by torch."""

from __future__ import annotations

import array
from typing import Any

from bench_kernels import add, code_id
from device import Device, torch_with_cuda
from stopwatch import Stopwatch

_COUNT = 1 << 27  # fp32: three vectors of 512 MiB, far more than any cache
_BLOCK = 1024
_PART = 1 << 16


def prove() -> tuple[str, dict[str, Any]]:
    device = Device()
    count = _COUNT
    while 3 * 4 * count > device.free_memory() // 2:
        count //= 2
    x, y, out = (device.empty("fp32", count) for _ in range(3))
    x.write(array.array("f", [1.5]) * count)
    y.write(array.array("f", range(_PART)) * (count // _PART))
    grid = (count // _BLOCK,)
    kernel = add[grid](x, y, out, count, BLOCK=_BLOCK)
    _check(device, out, count)
    watch = Stopwatch()
    seconds = watch.kernel(lambda: add[grid](x, y, out, count, BLOCK=_BLOCK))
    moved = 3 * 4 * count
    figures = {
        "add_us": round(seconds * 1e6, 2),
        "gb_per_s": round(moved / seconds / 1e9, 1),
        "code": code_id(kernel),
    }
    torch_seconds = _torch(watch, count)
    if torch_seconds:
        figures["torch_gb_per_s"] = round(moved / torch_seconds / 1e9, 1)
    return f"{figures['gb_per_s']} GB/s", figures


def _check(device: Device, out: Any, count: int) -> None:
    for start in (0, count // 2, count - _PART):
        want = array.array("f", (1.5 + n for n in range(_PART)))
        if device.computes and out.read(start, _PART) != want:
            raise AssertionError(f"the sum is wrong from element {start} on")


def _torch(watch: Stopwatch, count: int) -> float | None:
    torch = torch_with_cuda()
    if torch is None:
        return None
    x, y = (torch.ones(count, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    return watch.kernel(lambda: torch.add(x, y, out=out))
