"""Small whole numbers in the formats that Python lacks: bf16, fp8 e4m3 and fp8 e5m2, as bits."""

from __future__ import annotations

import math
import struct

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
        msg = f"{dtype} does not hold {number}"
        raise ValueError(msg)
    sign = int(number < 0) << (exponent_bits + mantissa_bits)
    return sign | exponent << mantissa_bits | int(mantissa)


def single(pattern: int) -> float:
    """The float of 32 bits."""
    return float(struct.unpack("<f", struct.pack("<I", pattern))[0])
