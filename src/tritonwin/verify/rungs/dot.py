"""A matrix product on tensor cores, of whole numbers that every format holds: it is exact."""

from __future__ import annotations

import math
from typing import Any

import triton
import triton.language as tl
from device import first_device, report

M, N, K = 64, 64, 128
# option dtype -> Triton's name of it in memory, of the result
MEMORY = {
    "fp16": ("fp16", "fp32"),
    "bf16": ("bf16", "fp32"),
    "fp32": ("fp32", "fp32"),
    "fp8e4nv": ("fp8e4nv", "fp32"),
    "fp8e5": ("fp8e5", "fp32"),
    "int8": ("i8", "i32"),
}

# exponent bits, mantissa bits, bias
_FORMATS = {"fp16": (5, 10, 15), "bf16": (8, 7, 127), "fp8e4nv": (4, 3, 7), "fp8e5": (5, 2, 15)}


def bits(dtype: str, number: int) -> int:
    """The number's bits, for numbers that the format holds exactly.

    Raises:
        ValueError: it does not.
    """
    exponent_bits, mantissa_bits, bias = _FORMATS[dtype]
    if number == 0:
        return 0
    fraction, power = math.frexp(abs(number))  # 0.5 <= fraction < 1
    mantissa = (fraction * 2 - 1) * (1 << mantissa_bits)
    exponent = power - 1 + bias
    if mantissa != int(mantissa) or not 0 < exponent < (1 << exponent_bits) - 1:
        raise ValueError(f"{dtype} does not hold {number}")
    sign = int(number < 0) << (exponent_bits + mantissa_bits)
    return sign | exponent << mantissa_bits | int(mantissa)


@triton.jit
def product(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    columns = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * K + tl.arange(0, K)[None, :])
    y = tl.load(y_ptr + tl.arange(0, K)[:, None] * N + columns)
    tl.store(out_ptr + rows * N + columns, tl.dot(x, y))


def encoded(dtype: str, numbers: list[int]) -> list[float]:
    if dtype in {"fp32", "int8"}:
        return [*numbers]
    return [bits(dtype, number) for number in numbers]


def pattern(count: int, seed: int) -> list[int]:
    """Whole numbers from -4 to 4, without an order that an error could hide in."""
    state, numbers = seed, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        numbers.append((state >> 16) % 9 - 4)
    return numbers


def reference(x: list[int], y: list[int]) -> list[int]:
    columns = [y[n::N] for n in range(N)]
    rows = [x[m * K : (m + 1) * K] for m in range(M)]
    return [sum(a * b for a, b in zip(row, column)) for row in rows for column in columns]


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    dtype = arguments["dtype"]
    stored, result = MEMORY[dtype]
    device = first_device()
    one, two = pattern(M * K, 1), pattern(K * N, 2)
    x = device.upload_new(stored, encoded(dtype, one))
    y = device.upload_new(stored, encoded(dtype, two))
    out = device.upload_new(result, [-1] * (M * N))
    compiled = product[(1,)](x, y, out, M=M, N=N, K=K)
    wrong = sum(a != b for a, b in zip(out.read(), reference(one, two)))
    ptx = compiled.asm["ptx"]
    unit = next(
        (word for word in ("wgmma", "tcgen05", "mma.sync") if word in ptx), "no tensor cores"
    )
    detail, figures = report(device, f"{M} x {K} x {N}, all {M * N} exact, by {unit}", wrong)
    return detail, {**figures, "instruction": unit}
