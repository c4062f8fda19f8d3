"""tl.math and libdevice against Python's own functions, in units in the last place of fp32."""

from __future__ import annotations

import math
import struct
from typing import Any, Callable

import triton
import triton.language as tl
from device import first_device, report

try:
    from triton.language.extra import libdevice
except ImportError:  # Triton 3.0
    from triton.language.extra.cuda import libdevice

BLOCK = 1024
# the order in which the kernel stores them; units in the last place that CUDA's documentation
# allows these functions, with the fast forms that Triton takes for exp, log, sin and cos
FUNCTIONS: tuple[tuple[str, Callable[[float], float], float], ...] = (
    ("exp", math.exp, 32),
    ("log", math.log, 32),
    ("sqrt", math.sqrt, 4),
    ("rsqrt", lambda x: 1 / math.sqrt(x), 4),
    ("sin", math.sin, 16),
    ("cos", math.cos, 16),
    ("erf", math.erf, 4),
    ("floor", math.floor, 0),
    ("tanh (libdevice)", math.tanh, 4),
    ("log1p (libdevice)", math.log1p, 4),
)


@triton.jit
def compute(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + 0 * BLOCK + offsets, tl.exp(x))
    tl.store(out_ptr + 1 * BLOCK + offsets, tl.log(x))
    tl.store(out_ptr + 2 * BLOCK + offsets, tl.sqrt(x))
    tl.store(out_ptr + 3 * BLOCK + offsets, tl.math.rsqrt(x))
    tl.store(out_ptr + 4 * BLOCK + offsets, tl.sin(x))
    tl.store(out_ptr + 5 * BLOCK + offsets, tl.cos(x))
    tl.store(out_ptr + 6 * BLOCK + offsets, tl.math.erf(x))
    tl.store(out_ptr + 7 * BLOCK + offsets, tl.math.floor(x))
    tl.store(out_ptr + 8 * BLOCK + offsets, libdevice.tanh(x))
    tl.store(out_ptr + 9 * BLOCK + offsets, libdevice.log1p(x))


def unit(x: float) -> float:
    """The distance between fp32 numbers at x, not less than that at 2**-10.

    Near a zero of log, sin or cos the absolute error counts.
    """
    exponent = math.frexp(x)[1] if x else -9
    return math.ldexp(1.0, max(exponent, -9) - 24)


def single(x: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", x))[0])


def prove() -> tuple[str, dict[str, Any]]:
    device = first_device()
    inputs = [single(0.01 + i * 0.003) for i in range(BLOCK)]
    x = device.upload_new("fp32", inputs)
    out = device.upload_new("fp32", [-9.0] * (BLOCK * len(FUNCTIONS)))
    compute[(1,)](x, out, BLOCK=BLOCK)
    found = out.read()
    errors: dict[str, Any] = {}
    wrong = 0
    for n, (name, function, allowed) in enumerate(FUNCTIONS):
        wanted = [function(x) for x in inputs]
        row = found[n * BLOCK : (n + 1) * BLOCK]
        units = [abs(a - b) / unit(b) for a, b in zip(row, wanted)]
        errors[f"{name}, units in the last place"] = round(max(units), 2)
        wrong += sum(not u <= allowed for u in units)
    if device.computes and wrong:
        raise AssertionError(f"{wrong} results are off: {errors}")
    detail, figures = report(device, f"{len(FUNCTIONS)} functions of {BLOCK} numbers", 0)
    return detail, {**figures, **(errors if device.computes else {})}
