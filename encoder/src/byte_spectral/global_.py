"""The whole row's spectrum at every position, in closed form: `mode="global"`. NOT causal.

The project that this idea comes from computes, for each position p, the FFT of the row rolled by
-p. By the shift theorem that is the FFT of the row times a phase ramp,

    X[k] = sum_n s[n] exp(-2 pi i k n / T)
    FFT(roll(s, -p))[k] = X[k] exp(+2 pi i k p / T)

so one FFT a row replaces T of them, and magnitudes are the same at all positions. X[k] holds every
byte of the row, those after p included: in a language model it gives the answers away. It may serve
a classifier of whole rows.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from byte_spectral import choose
from byte_spectral.definition import select
from byte_spectral.spec import PARTS

Parts = Literal["mag", "logmag", "power", "reim", "phase"]


def global_spectral(
    x: Tensor,
    *,
    K: int | None = None,
    parts: Parts = "mag",
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Spectrum of the whole row, phases counted from each position.

    Args:
        x: bytes, uint8 of shape (B, T).
        K: bins k = 0..K-1 of the T-point transform; T//2 + 1 (all different ones) if not given.
        parts: as of `byte_spectral`, all but "reim" the same at every position; and "phase":
            [|X| | sin arg X | cos arg X] (E = 3K), with sin 0 and cos 1 where X is 0.
        dtype: of the result; float64 also computes in float64.

    Returns:
        (B, T, E).

    Raises:
        TypeError: `x` is not uint8, or `dtype` not one of real numbers.
        ValueError: `x` is not (B, T), K is not in 1..T, or `parts` is not one of the above.
    """
    choose.check_choice("torch", dtype)
    _check(x, K, parts)
    length = x.shape[1]
    bins = length // 2 + 1 if K is None else K
    if x.numel() == 0:
        width = bins * {"reim": 2, "phase": 3}.get(parts, 1)
        return x.new_zeros((*x.shape, width), dtype=dtype)
    double = dtype == torch.float64
    signal = (2 * x.to(torch.float64 if double else torch.float32) - 255) / 255
    row = torch.fft.fft(signal)[:, :bins]
    if parts not in {"reim", "phase"}:
        same = select(torch.cat((row.real, row.imag), dim=-1), parts).to(dtype)
        return same[:, None, :].expand(-1, length, -1).contiguous()
    at = row[:, None, :] * _ramp(length, bins, row)
    if parts == "reim":
        return torch.cat((at.real, at.imag), dim=-1).to(dtype)
    size = row.abs()[:, None, :].expand(at.shape)
    unit = torch.where(size > 0, at / size.clamp_min(torch.finfo(size.dtype).tiny), 1.0)
    return torch.cat((size, unit.imag, unit.real), dim=-1).to(dtype)


def _ramp(length: int, bins: int, like: Tensor) -> Tensor:
    """exp(2 pi i k p / T) as (T, K); k*p is reduced as an integer, so large angles lose nothing."""
    circle = torch.arange(length, dtype=torch.float64, device=like.device) * (2 * torch.pi / length)
    table = torch.polar(torch.ones_like(circle), circle).to(like.dtype)
    position = torch.arange(length, device=like.device)
    return table[torch.outer(position, position[:bins]) % length]


def _check(x: Tensor, bins: int | None, parts: str) -> None:
    if not isinstance(x, Tensor) or x.dtype != torch.uint8:
        held = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"x holds {held}, not torch.uint8: give the bytes themselves")
    if x.dim() != 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, not (rows, bytes)")
    if bins is not None and not isinstance(bins, int):
        raise TypeError(f"K must be an int, not {type(bins).__name__}")
    if bins is not None and not 1 <= bins <= max(1, x.shape[1]):
        raise ValueError(f"K is {bins}: a row of {x.shape[1]} bytes has the bins 1 to {x.shape[1]}")
    if parts not in {*PARTS, "phase"}:
        raise ValueError(f"parts must be one of {', '.join(PARTS)}, phase, not {parts!r}")
