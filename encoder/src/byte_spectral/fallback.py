"""The same function in PyTorch alone: any device, differentiable in window and taps."""

from __future__ import annotations

from contextlib import nullcontext

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
    """Windowed frames through rfft, or frames times taps where rfft would cut or lack something.

    window: its name, its values (W,), or taps (W, 2K). Positions go in blocks of bounded memory,
    unless a gradient keeps everything anyway.
    """
    work = torch.float64 if dtype == torch.float64 else torch.float32
    given = isinstance(window, torch.Tensor) and window.dim() == 2
    if given or spec.N < spec.W or spec.K > spec.N // 2 + 1:
        w = window if given else dft_taps(spec, window)
        w = w.to(x.device, work)  # type: ignore[union-attr]
    else:
        if not x.numel():
            return x.new_zeros((*x.shape, spec.features), dtype=dtype)
        w = window_tensor(window, spec.W).to(x.device)
        w = (w * gain(w)).to(work)

    def spectrum(block: torch.Tensor) -> torch.Tensor:
        if w.dim() == 2:
            return block @ w
        bins = torch.fft.rfft(block * w, n=spec.N)[..., : spec.K]
        return torch.cat([bins.real, bins.imag], dim=-1)

    framed = frames(x, spec, lengths)
    step = max(1, BLOCK // max(1, x.shape[0] * max(spec.W, spec.N)))
    # not split at all where it need not be: torch.export would ask how many parts
    whole = w.requires_grad or step >= x.shape[1]
    # no autocast: the features would have the error of half precision, as no kernel's have
    device = x.device
    whole_products = (
        torch.autocast(device.type, enabled=False) if choose.has_autocast(device) else nullcontext()
    )
    with whole_products:
        found = [
            select(spectrum(block.to(work)), spec.parts).to(dtype)
            for block in ([framed] if whole else framed.split(step, dim=1))
        ]
    out = found[0] if len(found) == 1 else torch.cat(found, dim=1)
    return out if lengths is None else out * inside(x, lengths).unsqueeze(2)
