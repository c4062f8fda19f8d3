"""Taps in the form that a kernel reads: oldest lag first, padded, as fp16 limbs or fp32.

Bytes enter a kernel as (2x - 255) / 2^shift, which is exact, so taps are multiplied by
2^shift / 255: that brings them near 1, where fp16 has its full precision.
"""

from __future__ import annotations

import math

import torch

from tritonwin.spectral.spec import Spec
from tritonwin.spectral.taps import gain, twiddles, window_tensor


def shift_of(W: int) -> int:
    """log2 of what the bytes are divided by: near 255 * sqrt(W), at most what fp16 holds."""
    return min(13, 8 + int(math.log2(W)) // 2)


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


def padded(taps: torch.Tensor, rows: int, bins: int, shift: int) -> torch.Tensor:
    """(W, 2K) -> (2, rows, bins), oldest lag last row first, scaled by 2^shift / 255."""
    W, columns = taps.shape
    split = taps.reshape(W, 2, columns // 2).permute(1, 0, 2).flip(1) * (2.0**shift / 255)
    return torch.nn.functional.pad(split, (0, bins - columns // 2, rows - W, 0))


def portable(taps: torch.Tensor, count: int, rows: int, bins: int, shift: int) -> torch.Tensor:
    """(2, max(count, 1), rows, bins) contiguous, for `kernels`."""
    whole = padded(taps, rows, bins, shift)
    return torch.stack(limbs(whole, count), dim=1).contiguous()


def hopper(
    taps: torch.Tensor, count: int, rows: int, width: int, shift: int, pairs: int
) -> torch.Tensor:
    """(chunks*2*count*rows, width) fp16, for `hopper`: chunks of `width` bins.

    pairs: a thread's accumulators are pairs of columns 8 apart; physical column 8h + 2q + l of
    every group of 8*pairs holds bin 2*pairs*q + 2h + l, so that `pairs` of them are neighbours in
    the output. 1 leaves the bins in order.
    """
    bins = -(-taps.shape[1] // 2 // width) * width
    order = torch.arange(bins, device=taps.device).reshape(-1, 4, pairs, 2).transpose(1, 2)
    whole = padded(taps, rows, bins, shift)[:, :, order.reshape(-1)]
    parts = torch.stack(limbs(whole, count), dim=1)  # 2, count, rows, bins
    return (
        parts.reshape(2 * count, rows, -1, width)
        .permute(2, 0, 1, 3)
        .reshape(-1, width)
        .contiguous()
    )


def sliding(
    spec: Spec, window: str, steps: int, turns: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, float]:
    """What `sliding.slide` reads: taps of its state (W, 2K or 6K) float64, table, ramp, scale.

    `window` is "tail" or "rect"; the state stands one position before its chunk.
    """
    W, K, N = spec.W, spec.K, spec.N
    before = twiddles(W + 1, K, N)[1:]  # e^{-iwq}, q = 1..W bytes before the chunk
    cos, minus_sin = before[:, :K], before[:, K:]
    angle = torch.arange(1, W + 1, dtype=torch.float64) * (math.pi / W)
    weights = [torch.ones_like(angle), angle.cos(), -angle.sin()][: 3 if window == "tail" else 1]
    state = torch.cat(
        [w[:, None] * cos for w in weights] + [w[:, None] * minus_sin for w in weights], 1
    )
    lags = torch.tensor([*(-n for n in range(0, steps, turns)), -1, W])
    phase = (lags[:, None] * torch.arange(K) % N).double() * (2 * math.pi / N)
    table = torch.stack([phase.cos(), -phase.sin()], dim=1).float()  # e^{-iw lag}
    n = torch.arange(steps, dtype=torch.float64) * (math.pi / W)
    scale = gain(window_tensor(window, W)).item() * (0.5 if window == "tail" else 1.0)
    return state * scale, table, torch.stack([n.cos(), n.sin()], dim=1).float(), scale
