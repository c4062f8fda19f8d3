"""Many programs at once add, take the maximum of and swap the same numbers; none may be lost."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from device import first_device, report

PROGRAMS = 512
BLOCK = 128


@triton.jit
def count(sum_ptr, float_ptr, max_ptr, histogram_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    tl.atomic_add(sum_ptr, 1)
    tl.atomic_add(float_ptr, 0.5)
    tl.atomic_max(max_ptr, program)
    tl.atomic_add(histogram_ptr + (lane + program) % 7, tl.full((BLOCK,), 1, tl.int32))


@triton.jit
def locked(lock_ptr, total_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    # what the lock guards is read and written without an atomic operation
    tl.store(total_ptr, tl.load(total_ptr) + 3)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def prove() -> tuple[str, dict[str, Any]]:
    device = first_device()
    total, largest = device.upload_new("i32", [0]), device.upload_new("i32", [-1])
    halves, bins = device.upload_new("fp32", [0.0]), device.upload_new("i32", [0] * 7)
    count[(PROGRAMS,)](total, halves, largest, bins, BLOCK=BLOCK)
    lock, guarded = device.upload_new("i32", [0]), device.upload_new("i32", [0])
    locked[(PROGRAMS,)](lock, guarded, num_warps=1)
    wanted_bins = [0] * 7
    for program in range(PROGRAMS):
        for lane in range(BLOCK):
            wanted_bins[(lane + program) % 7] += 1
    found = [total.read()[0], halves.read()[0], largest.read()[0], guarded.read()[0], *bins.read()]
    wanted = [PROGRAMS, PROGRAMS / 2, PROGRAMS - 1, 3 * PROGRAMS, *wanted_bins]
    wrong = sum(a != b for a, b in zip(found, wanted))
    return report(device, f"{PROGRAMS} programs: add, max, compare-and-swap, histogram", wrong)
