"""`ByteSpectral`: the encoder as a module."""

from __future__ import annotations

import torch
from torch import nn

from tritonwin.spectral.functional import Backend, byte_spectral, byte_spectral_taps
from tritonwin.spectral.spec import make_spec
from tritonwin.spectral.taps import dft_taps, window_tensor


class ByteSpectral(nn.Module):
    """Bytes (B, T) -> features (B, T, E); see `byte_spectral` for the parameters.

    Args:
        learnable: False, "window" (the W window values) or "taps" (the W x 2K map, DFT at first).
    """

    def __init__(
        self,
        *,
        W: int = 64,
        K: int = 256,
        N: int | None = None,
        parts: str = "mag",
        window: str | torch.Tensor = "tail",
        causal: bool = True,
        precision: str = "exact",
        dtype: torch.dtype = torch.float32,
        learnable: bool | str = False,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        self.spec = make_spec(W, K, N, parts, causal, precision)
        if learnable not in (False, "window", "taps"):
            msg = f'learnable must be False, "window" or "taps", not {learnable!r}'
            raise ValueError(msg)
        self.learnable = learnable
        self.dtype = dtype
        self.backend = backend
        self._window = window
        if learnable == "window":
            self.window = nn.Parameter(window_tensor(window, W).float())
        elif learnable == "taps":
            self.taps = nn.Parameter(dft_taps(self.spec, window).float())

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        spec = self.spec
        if self.learnable == "taps":
            return byte_spectral_taps(
                x, self.taps, parts=spec.parts, causal=spec.causal, precision=spec.precision,
                dtype=self.dtype, lengths=lengths, backend=self.backend,
            )  # fmt: skip
        return byte_spectral(
            x, W=spec.W, K=spec.K, N=spec.N, parts=spec.parts,
            window=self.window if self.learnable == "window" else self._window,
            causal=spec.causal, precision=spec.precision, dtype=self.dtype, lengths=lengths,
            backend=self.backend,
        )  # fmt: skip
