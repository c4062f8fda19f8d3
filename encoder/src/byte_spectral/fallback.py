"""The same function in PyTorch alone: any device, differentiable in window and taps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch

from byte_spectral import choose
from byte_spectral.definition import frames, inside, select
from byte_spectral.spec import Spec
from byte_spectral.taps import dft_taps, gain, window_tensor

# frames of one block of positions, in elements: bounds the memory where no gradient is wanted
BLOCK = 1 << 26


def encode(
    x: torch.Tensor,
    spec: Spec,
    window: str | torch.Tensor,
    dtype: torch.dtype,
    lengths: torch.Tensor | None = None,
) -> torch.Tensor:
    """Windowed frames through rfft, or through the DFT matrix where rfft is another function."""
    work = _work_dtype(dtype)
    if spec.N < spec.W or spec.K > spec.N // 2 + 1:  # rfft would cut the frame or lack bins
        return encode_taps(x, dft_taps(spec, window), spec, dtype, lengths)
    if not x.numel():
        return x.new_zeros((*x.shape, spec.features), dtype=dtype)
    w = window_tensor(window, spec.W).to(x.device)
    w = (w * gain(w)).to(work)

    def spectrum(block: torch.Tensor) -> torch.Tensor:
        bins = torch.fft.rfft(block * w, n=spec.N)[..., : spec.K]
        return torch.cat([bins.real, bins.imag], dim=-1)

    return _blocks(x, spec, lengths, dtype, spectrum, track=w.requires_grad)


def encode_taps(
    x: torch.Tensor,
    taps: torch.Tensor,
    spec: Spec,
    dtype: torch.dtype,
    lengths: torch.Tensor | None = None,
) -> torch.Tensor:
    """Frames (newest byte first) @ taps (W, 2K)."""
    matrix = taps.to(x.device, _work_dtype(dtype))

    def spectrum(block: torch.Tensor) -> torch.Tensor:
        return block @ matrix

    return _blocks(x, spec, lengths, dtype, spectrum, track=matrix.requires_grad)


def _work_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _whole_products(device: torch.device) -> AbstractContextManager[object]:
    """No autocast: the features would have the error of half precision, as no kernel's have."""
    if choose.has_autocast(device):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def _blocks(
    x: torch.Tensor,
    spec: Spec,
    lengths: torch.Tensor | None,
    dtype: torch.dtype,
    spectrum: Callable[[torch.Tensor], torch.Tensor],
    *,
    track: bool,
) -> torch.Tensor:
    """Positions in blocks of bounded memory, unless a gradient keeps everything anyway."""
    framed = frames(x, spec, lengths)
    step = max(1, BLOCK // max(1, x.shape[0] * max(spec.W, spec.N)))
    whole = track or step >= x.shape[1]  # not split at all: torch.export would ask how many parts
    work = _work_dtype(dtype)
    with _whole_products(x.device):
        found = [
            select(spectrum(block.to(work)), spec.parts).to(dtype)
            for block in ([framed] if whole else framed.split(step, dim=1))
        ]
    out = found[0] if len(found) == 1 else torch.cat(found, dim=1)
    return out if lengths is None else out * inside(x, lengths).unsqueeze(2)
