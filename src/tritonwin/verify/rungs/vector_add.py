"""Add two vectors whose length fits no block; every bit, and what lies beyond, is compared."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from device import first_device, report, values

COUNT = 100_003
GUARD = 1000  # elements behind the vector that must stay as they are
UNTOUCHED = -7.25
BLOCK = 1024


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def prove() -> tuple[str, dict[str, Any]]:
    device = first_device()
    # products that have no short binary form, so that a wrong rounding would show
    one = [i * 0.1 for i in range(COUNT)]
    two = [1e6 / (i + 1) for i in range(COUNT)]
    x, y = device.upload_new("fp32", one), device.upload_new("fp32", two)
    out = device.upload_new("fp32", [UNTOUCHED] * (COUNT + GUARD))
    add[(triton.cdiv(COUNT, BLOCK),)](x, y, out, COUNT, BLOCK=BLOCK)
    found = out.read()
    rounded_one, rounded_two = values("fp32", one), values("fp32", two)
    # the sum of two floats in Python's doubles, rounded once, is the correctly rounded sum
    wanted = values("fp32", [a + b for a, b in zip(rounded_one, rounded_two)])
    wanted.extend([UNTOUCHED] * GUARD)
    wrong = sum(a != b for a, b in zip(found, wanted))
    return report(device, f"{COUNT} sums right bit for bit, {GUARD} beyond untouched", wrong)
