"""Packed taps in plain PyTorch, as `kernels.pack` makes them on the device, and their rounding."""

from __future__ import annotations

import torch

from byte_spectral.pack import headroom, limbs, shift_of
from byte_spectral.spec import Spec
from byte_spectral.taps import dft_taps


def padded(taps: torch.Tensor, rows: int, bins: int, shift: int) -> torch.Tensor:
    """(W, 2K) -> (2, rows, bins), oldest lag last row first, scaled by 2^shift / 255."""
    W, columns = taps.shape
    split = taps.reshape(W, 2, columns // 2).permute(1, 0, 2).flip(1) * (2.0**shift / 255)
    return torch.nn.functional.pad(split, (0, bins - columns // 2, rows - W, 0))


def arrange(
    taps: torch.Tensor, count: int, rows: int, width: int, shift: int, pairs: int = 1
) -> torch.Tensor:
    """(chunks, max(count, 1), rows, 2*width) contiguous: chunks of `width` bins, [re | im].

    pairs: on sm_90 a thread's accumulators are pairs of columns 8 apart; physical column
    8h + 2q + l of every group of 8*pairs holds bin 2*pairs*q + 2h + l, so that 2*pairs of them are
    neighbours in the output. 1 leaves the bins in order.
    """
    bins = -(-taps.shape[1] // 2 // width) * width
    order = torch.arange(bins, device=taps.device).reshape(-1, 4, pairs, 2).transpose(1, 2)
    whole = padded(taps, rows, bins, shift)[:, :, order.reshape(-1)]
    parts = torch.stack(limbs(whole, count))  # count, 2, rows, bins
    split = parts.reshape(parts.shape[0], 2, rows, -1, width)
    return split.permute(3, 0, 2, 1, 4).reshape(-1, parts.shape[0], rows, 2 * width).contiguous()


def worst_error(spec: Spec, window: str) -> float:
    """A bound of |X' - X| / |X| (Frobenius, all bins of any bytes) that rounding the taps makes.

    A frame s gives X = sC and X' = sC', so X' - X = X C^+ (C' - C) where C has full rank, which it
    has for W < 2K. Magnitudes differ by no more than the numbers themselves. What adding up in
    float32 does is not in it; that is about 3e-7.
    """
    taps = dft_taps(spec, window)
    count = 1 if spec.precision == "fast" else 2
    scale = headroom(spec, window) * 2.0 ** shift_of(spec.W) / 255
    near = sum(part.double() for part in limbs(taps.float() * scale, count)) / scale
    return float(torch.linalg.matrix_norm(torch.linalg.pinv(taps) @ (near - taps), 2))
