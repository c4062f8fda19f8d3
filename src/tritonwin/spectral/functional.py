"""The functional form: checks, and the choice between the kernels and plain PyTorch."""

from __future__ import annotations

from typing import Literal

import torch

from tritonwin.spectral import fallback
from tritonwin.spectral.spec import make_spec

Backend = Literal["auto", "triton", "torch"]


def byte_spectral(
    x: torch.Tensor,
    *,
    W: int = 64,
    K: int = 256,
    N: int | None = None,
    parts: str = "mag",
    window: str | torch.Tensor = "tail",
    causal: bool = True,
    precision: str = "exact",
    dtype: torch.dtype = torch.float32,
    lengths: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Short-time DFT of bytes, one frame a byte: (B, T) uint8 -> (B, T, E)."""
    del backend
    spec = make_spec(W, K, N, parts, causal, precision)
    return fallback.encode(x, spec, window, dtype, lengths)


def byte_spectral_taps(
    x: torch.Tensor,
    taps: torch.Tensor,
    *,
    parts: str = "mag",
    causal: bool = True,
    precision: str = "exact",
    dtype: torch.dtype = torch.float32,
    lengths: torch.Tensor | None = None,
    backend: Backend = "auto",
) -> torch.Tensor:
    """The same with any taps (W, 2K), as [Re | Im] columns; differentiable in `taps`."""
    del backend
    W, columns = taps.shape
    spec = make_spec(W, columns // 2, None, parts, causal, precision)
    return fallback.encode_taps(x, taps, spec, dtype, lengths)
