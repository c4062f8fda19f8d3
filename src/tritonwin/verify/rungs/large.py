"""Address an array of more than 4 GB at both ends, with sizes that 32 bits cannot hold."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from device import first_device, report
from probe_runner import NotApplicableError

COUNT = 2**32 + 4096  # bytes
SPARE = 2**30
BLOCK = 1024


@triton.jit
def mark_ends(x_ptr, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    tl.store(x_ptr + lane, tl.full((BLOCK,), 17, tl.int8), mask=lane < n)
    last = n - BLOCK + lane
    tl.store(x_ptr + last, tl.full((BLOCK,), 23, tl.int8), mask=last < n)


@triton.jit
def echo(out_ptr, n):
    tl.store(out_ptr, n * 3)


def prove() -> tuple[str, dict[str, Any]]:
    device = first_device()
    small = device.upload_new("i64", [0])
    echo[(1,)](small, COUNT)
    wrong = int(small.read()[0] != 3 * COUNT)
    if not device.computes:
        return report(device, "", wrong)
    free = device.free_memory()
    if free < COUNT + SPARE:
        raise NotApplicableError(
            f"an array of more than 4 GB needs more GPU memory than is free: {free >> 20} MiB"
        )
    big = device.empty("i8", COUNT)
    big.write(_zeros(), 0)
    big.write(_zeros(), COUNT - 2 * BLOCK)
    mark_ends[(1,)](big, COUNT, BLOCK=BLOCK)
    head, tail = big.read(0, 2 * BLOCK), big.read(COUNT - 2 * BLOCK, 2 * BLOCK)
    wrong += sum(v != 17 for v in head[:BLOCK]) + sum(v != 0 for v in head[BLOCK:])
    wrong += sum(v != 0 for v in tail[:BLOCK]) + sum(v != 23 for v in tail[BLOCK:])
    return report(device, f"both ends of {COUNT} bytes, and a 64-bit argument", wrong)


def _zeros() -> Any:
    from device import values

    return values("i8", [0] * (2 * BLOCK))
