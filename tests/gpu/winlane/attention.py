"""Attention as one Triton kernel, with memory from the driver alone; prints its error and a checksum.

The Python of a bundle runs it, with src/tritonwin/verify/rungs on its path.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys

import triton
import triton.language as tl
from device import first_device

LENGTH, WIDTH, BLOCK = 256, 64, 64
ALLOWED = 2e-3  # of fp16 products against float64


@triton.jit
def attend(q, k, v, out, scale, LENGTH: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, WIDTH)
    query = tl.load(q + rows[:, None] * WIDTH + inner[None, :])
    most = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    mixed = tl.zeros([BLOCK, WIDTH], tl.float32)
    for start in range(0, LENGTH, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        key = tl.load(k + columns[None, :] * WIDTH + inner[:, None])
        score = tl.dot(query, key) * scale
        new = tl.maximum(most, tl.max(score, 1))
        weight = tl.exp(score - new[:, None])
        old = tl.exp(most - new)
        total = total * old + tl.sum(weight, 1)
        value = tl.load(v + columns[:, None] * WIDTH + inner[None, :])
        mixed = mixed * old[:, None] + tl.dot(weight.to(tl.float16), value)
        most = new
    tl.store(out + rows[:, None] * WIDTH + inner[None, :], mixed / total[:, None])


def bits(number: float) -> int:
    """The bits of a multiple of 1/64 below 2 as fp16, which holds it exactly."""
    if number == 0:
        return 0
    exponent = math.floor(math.log2(abs(number)))
    mantissa = round((abs(number) / 2**exponent - 1) * 1024)
    return (0x8000 if number < 0 else 0) | (exponent + 15) << 10 | mantissa


def main() -> int:
    device = first_device()
    chance = random.Random(3)
    rows = [[[chance.randrange(-64, 65) / 64 for _ in range(WIDTH)] for _ in range(LENGTH)]
            for _ in range(3)]  # fmt: skip
    q, k, v = (device.upload_new("fp16", [bits(x) for row in part for x in row]) for part in rows)
    out = device.upload_new("fp32", [0.0] * (LENGTH * WIDTH))
    scale = 1 / math.sqrt(WIDTH)
    attend[(LENGTH // BLOCK,)](q, k, v, out, scale, LENGTH=LENGTH, WIDTH=WIDTH, BLOCK=BLOCK)
    found = out.read()
    error = 0.0
    for row in range(0, LENGTH, 37):
        scores = [scale * sum(map(float.__mul__, rows[0][row], key)) for key in rows[1]]
        weights = [math.exp(score - max(scores)) for score in scores]
        for column in range(0, WIDTH, 5):
            mixed = sum(w * value[column] for w, value in zip(weights, rows[2], strict=True))
            error = max(error, abs(found[row * WIDTH + column] - mixed / sum(weights)))
    checksum = hashlib.sha256(found.tobytes()).hexdigest()
    ok = error <= ALLOWED or not device.computes
    print(json.dumps({"ok": ok, "error": error, "sha256": checksum, "computes": device.computes}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
