"""The whole row's spectrum at every position, in closed form. NOT causal: a bad example.

The published project computes, for each position p, the FFT of the row rolled by -p. By the shift
theorem that is the FFT of the row times a phase ramp,

    X[k] = sum_n s[n] exp(-2 pi i k n / T)
    FFT(roll(s, -p))[k] = X[k] exp(+2 pi i k p / T)

so one FFT a row replaces T of them, and magnitudes are the same at all positions. X[k] holds every
byte of the row, those after p included: in a language model it gives the answers away.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Parts = Literal["mag", "phase"]


def whole_row(x: Tensor, parts: Parts = "mag", dtype: torch.dtype = torch.float32) -> Tensor:
    """Spectrum of the whole row, phases counted from each position, T//2 + 1 bins.

    Args:
        x: bytes, uint8 (B, T), T at least 1.
        parts: "mag" (E bins), the same at every position; or "phase", [|X| | sin arg X | cos arg X]
            with sin 0 and cos 1 where X is 0.
        dtype: float32 or float64.

    Returns:
        (B, T, E).
    """
    length = x.shape[1]
    row = torch.fft.rfft((2 * x.to(dtype) - 255) / 255)
    size = row.abs()[:, None, :].expand(-1, length, -1)
    if parts == "mag":
        return size.contiguous()
    at = row[:, None, :] * _ramp(length, row)
    unit = torch.where(size > 0, at / size.clamp_min(torch.finfo(size.dtype).tiny), 1.0)
    return torch.cat((size, unit.imag, unit.real), dim=-1)


def _ramp(length: int, like: Tensor) -> Tensor:
    """exp(2 pi i k p / T) as (T, K); k*p is reduced as an integer, so large angles lose nothing."""
    circle = torch.arange(length, dtype=torch.float64, device=like.device) * (2 * torch.pi / length)
    table = torch.polar(torch.ones_like(circle), circle).to(like.dtype)
    position = torch.arange(length, device=like.device)
    return table[torch.outer(position, position[: like.shape[-1]]) % length]
