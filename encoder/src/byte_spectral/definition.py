"""The definition, in float64: what every other implementation is held against."""

from __future__ import annotations

import math
from typing import Any

import torch

from byte_spectral.spec import LOG_FLOOR, Spec, make_spec
from byte_spectral.taps import dft_taps, gain, window_tensor


def reference(
    x: torch.Tensor,
    *,
    window: str | torch.Tensor = "tail",
    dtype: torch.dtype = torch.float64,
    lengths: torch.Tensor | None = None,
    **transform: Any,
) -> torch.Tensor:
    """The short-time DFT of bytes (B, T) as (B, T, E), E = 2K for "reim" and K otherwise.

    Args:
        transform: W, K, N, parts and causal as of `byte_spectral`; precision changes nothing.
    """
    spec = make_spec(**transform)
    spectrum = frames(x, spec, lengths) @ dft_taps(spec, window).to(x.device)
    out = select(spectrum, spec.parts).to(dtype)
    return out if lengths is None else out * inside(x, lengths).unsqueeze(2)


def walked(x: torch.Tensor, spec: Spec) -> torch.Tensor:
    """The same [Re | Im] of a causal "tail" window, from each position's sums to the next one's.

    The naive form of `walk`: three sums of plain exponentials a bin, to which the byte that comes
    is added, and from which the one that leaves is taken, turned by its phase.
    """
    s = torch.nn.functional.pad(signal(x, None), (spec.W, 0))
    k = torch.arange(spec.K, device=x.device).double()
    d = math.pi / spec.W
    v = 2 * math.pi / spec.N * k + d * k.new_tensor([[0.0], [1.0], [-1.0]])
    on, away = torch.polar(torch.ones_like(v), -v), torch.polar(torch.ones_like(v), -v * spec.W)
    sums = torch.zeros(x.shape[0], 3, spec.K, dtype=torch.complex128, device=x.device)
    weight = torch.tensor([0.5, 0.25, 0.25], dtype=torch.complex128, device=x.device)
    weight = weight * gain(window_tensor("tail", spec.W))
    found = []
    for t in range(x.shape[1]):
        comes, leaves = s[:, t + spec.W, None, None], s[:, t, None, None]
        sums = sums * on + comes - leaves * away
        found.append((weight[:, None] * sums).sum(1))
    spectrum = torch.stack(found, dim=1)
    return torch.cat([spectrum.real, spectrum.imag], dim=-1)


def signal(x: torch.Tensor, lengths: torch.Tensor | None) -> torch.Tensor:
    """s = x/127.5 - 1 = (2x - 255)/255, and 0 (which is no byte) from each row's length on."""
    s = (2 * x.double() - 255) / 255  # odd about the middle, to the last bit
    return s if lengths is None else s * inside(x, lengths)


def inside(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[1], device=x.device) < lengths.to(x.device).unsqueeze(1)


def frames(x: torch.Tensor, spec: Spec, lengths: torch.Tensor | None) -> torch.Tensor:
    """(B, T, W), newest byte first: frame[b,t,m] = s[b,t+shift-m], 0 outside the row."""
    if x.numel() == 0:
        return x.new_zeros((*x.shape, spec.W), dtype=torch.float64)
    padding = (spec.W - 1 - spec.shift, spec.shift)
    padded = torch.nn.functional.pad(signal(x, lengths), padding)
    newest_first = torch.arange(spec.W - 1, -1, -1, device=x.device)
    # by an index: `flip` would have torch.export tell rows shorter than W from others
    return padded.unfold(1, spec.W, 1).index_select(2, newest_first)


def select(spectrum: torch.Tensor, parts: str) -> torch.Tensor:
    """[Re | Im] (..., 2K) -> (..., E). The gradient of |X| at X = 0 is 0."""
    if parts == "reim":
        return spectrum
    re, im = spectrum.chunk(2, dim=-1)
    if parts == "power":
        return re * re + im * im
    magnitude = torch.complex(re, im).abs()
    return magnitude if parts == "mag" else torch.log(magnitude + LOG_FLOOR)


def before_select(spectrum: torch.Tensor, upstream: torch.Tensor, parts: str) -> torch.Tensor:
    """The gradient of `select`, where autograd cannot be asked."""
    if parts == "reim":
        return upstream
    re, im = spectrum.chunk(2, dim=-1)
    if parts == "power":
        slope = 2 * upstream
    else:
        size = torch.complex(re, im).abs()
        slope = upstream / torch.where(size > 0, size, 1)  # at 0 re and im are 0, too
        if parts == "logmag":
            slope = slope / (size + LOG_FLOOR)
    return torch.cat([slope * re, slope * im], dim=-1)
