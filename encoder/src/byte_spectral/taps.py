"""Windows and twiddles in float64: the linear map from bytes to [Re X | Im X]."""

from __future__ import annotations

import math

import torch

from byte_spectral.spec import Spec, window_values


def window_tensor(window: str | torch.Tensor, W: int) -> torch.Tensor:
    """w as float64 of shape (W,) on the device of `window`; gradients flow to a given tensor."""
    if isinstance(window, str):
        return torch.tensor(window_values(window, W), dtype=torch.float64)
    if not isinstance(window, torch.Tensor):
        raise TypeError(f"window must be a name or a tensor, not {type(window).__name__}")
    if window.shape != (W,) or not window.is_floating_point():
        given = f"{window.dtype} {tuple(window.shape)}"
        raise ValueError(f"window must be a real tensor of shape ({W},), not {given}")
    return window.double()


def twiddles(W: int, K: int, N: int, device: torch.device | str = "cpu") -> torch.Tensor:
    """exp(-2 pi i k m / N) as [cos | -sin], float64 (W, 2K). The phase k*m is reduced mod N as an
    integer, since a rounded product costs digits for large k*m."""
    lag = torch.arange(W, device=device).unsqueeze(1)
    phase = (lag * torch.arange(K, device=device) % N).double() * (2 * math.pi / N)
    return torch.cat([phase.cos(), -phase.sin()], dim=1)


def gain(window: torch.Tensor) -> torch.Tensor:
    """g = 1/sqrt(sum w^2): white bytes of unit variance give E|X|^2 = 1. 1 for a zero window."""
    energy = window.square().sum()
    return torch.where(energy > 0, energy.clamp_min(1e-300).rsqrt(), torch.ones_like(energy))


def dft_taps(spec: Spec, window: str | torch.Tensor = "tail") -> torch.Tensor:
    """C, float64 (W, 2K): X = s-frames @ C with the window and the gain inside."""
    w = window_tensor(window, spec.W)
    return (w * gain(w)).unsqueeze(1) * twiddles(spec.W, spec.K, spec.N, w.device)
