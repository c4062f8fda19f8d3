"""The same function in PyTorch alone: any device, differentiable in window and taps."""

from __future__ import annotations

from contextlib import nullcontext

import torch

from byte_spectral import choose
from byte_spectral.definition import frames, inside, select
from byte_spectral.spec import Spec
from byte_spectral.taps import dft_taps

# frames of one block of positions, in elements: bounds the memory where no gradient is wanted
BLOCK = 1 << 26


def encode(
    x: torch.Tensor,
    spec: Spec,
    window: str | torch.Tensor,
    dtype: torch.dtype,
    lengths: torch.Tensor | None = None,
) -> torch.Tensor:
    """Frames times taps. window: its name, its values (W,), or taps (W, 2K).

    Positions go in blocks of bounded memory, unless a gradient keeps everything anyway.
    """
    work = torch.float64 if dtype == torch.float64 else torch.float32
    given = window if isinstance(window, torch.Tensor) and window.dim() == 2 else None
    taps = (dft_taps(spec, window) if given is None else given).to(x.device, work)
    framed = frames(x, spec, lengths)
    step = max(1, BLOCK // max(1, x.shape[0] * spec.W))
    # not split at all where it need not be: torch.export would ask how many parts
    whole = taps.requires_grad or step >= x.shape[1]
    # no autocast: the features would have the error of half precision, as no kernel's have
    device = x.device
    whole_products = (
        torch.autocast(device.type, enabled=False) if choose.has_autocast(device) else nullcontext()
    )
    with whole_products:
        found = [
            select(block.to(work) @ taps, spec.parts).to(dtype)
            for block in ([framed] if whole else framed.split(step, dim=1))
        ]
    out = found[0] if len(found) == 1 else torch.cat(found, dim=1)
    return out if lengths is None else out * inside(x, lengths).unsqueeze(2)


def taps_gradient(
    x: torch.Tensor, spec: Spec, upstream: torch.Tensor, lengths: torch.Tensor | None
) -> torch.Tensor:
    """d loss / d taps (W, 2K) from that of [Re | Im] (B, T, 2K); rows in blocks of bounded memory,
    one after the other, so that the result is the same every time."""
    found = upstream.new_zeros(spec.W, 2 * spec.K)
    step = max(1, BLOCK // (x.shape[1] * spec.W))
    for first in range(0, x.shape[0], step):
        rows = slice(first, first + step)
        framed = frames(x[rows], spec, None if lengths is None else lengths[rows])
        if lengths is not None:  # positions past the end are 0 whatever the taps
            framed = framed * inside(x[rows], lengths[rows]).unsqueeze(2)
        found += framed.flatten(0, 1).to(found.dtype).T @ upstream[rows].flatten(0, 1)
    return found
