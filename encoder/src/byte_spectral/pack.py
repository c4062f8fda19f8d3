"""Taps in the form that a kernel reads: oldest lag first, padded, as fp16 limbs or fp32.

Bytes enter a kernel as (2x - 255) / 2^shift, which is exact, so taps are multiplied by
2^shift / 255: that brings them near 1, where fp16 has its full precision.
"""

from __future__ import annotations

import math

import torch

from byte_spectral.records import Walk
from byte_spectral.spec import Spec
from byte_spectral.taps import gain, window_tensor


def shift_of(W: int) -> int:
    """log2 of what the bytes are divided by: near 255 * sqrt(W), at most what fp16 holds."""
    return min(13, 8 + int(math.log2(W)) // 2)


def headroom(spec: Spec, window: str | None) -> float:
    """Factor of the taps, by which re and im are divided again, where taps are one fp16 number.

    The largest are brought just below a power of two, where rounding is finest for their size:
    2.1e-4 becomes 1.9e-4. Magnitudes, whose error is smaller, are not worth the multiplication.
    """
    if window is None or spec.precision == "exact" or spec.parts != "reim":
        return 1.0
    largest = gain(window_tensor(window, spec.W)).item() * 2.0 ** shift_of(spec.W) / 255
    return 0.998 * 2.0 ** math.ceil(math.log2(largest)) / largest


def power_of_two(value: int, least: int = 16) -> int:
    return max(least, 1 << (value - 1).bit_length())


def limbs(taps: torch.Tensor, count: int) -> list[torch.Tensor]:
    """Split into fp16 summands, the largest first; fp32 as it is for count 0."""
    if count == 0:
        return [taps.float()]
    parts = []
    for _ in range(count):
        parts.append(taps.to(torch.float16))
        taps = taps - parts[-1].to(taps.dtype)
    return parts


def _turned(r: torch.Tensor, j: int, record: Walk, N: int) -> torch.Tensor:
    """e^{ivr}, v = 2 pi k/N + j pi/W, as re, im: (R, 2, padded); phases are reduced as integers."""
    k = torch.arange(record.padded)
    circle = (r[:, None] * k % N).double() / N
    circle += (r[:, None] * j % (2 * record.W)).double() / (2 * record.W)
    angle = circle * (2 * math.pi)
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def walking(record: Walk, N: int) -> tuple[torch.Tensor, ...]:
    """The operands of `walk.walk`: taps, table, turn and ramp."""
    W, steps, turns = record.W, record.steps, record.turns
    j = torch.arange(steps) - steps
    exponentials = _turned(j, 0, record, N).permute(0, 2, 1)
    exponentials *= record.gain * 2.0**record.scale / 255
    parts = torch.stack(limbs(exponentials.reshape(steps, -1, 2 * record.bins), record.limbs))
    lags = torch.tensor([*range(turns), -turns, *(r - W for r in range(turns))])
    ends = torch.tensor([-steps, -W])
    turn = torch.stack([_turned(ends, v, record, N) for v in (0, -1, 1, -1)], dim=-1)
    ramp = j.double() * (math.pi / W)
    return (
        parts.permute(2, 0, 1, 3).reshape(-1, 2 * record.bins).contiguous(),
        _turned(lags, 0, record, N).reshape(-1, record.padded).float(),
        turn.reshape(4, 4 * record.padded).float(),
        torch.stack([ramp.cos(), ramp.sin()]).float(),
    )
