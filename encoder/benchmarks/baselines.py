"""Baselines of the encoder: the same function by other means.

They return float32 magnitudes (B, T, K) of the definition in docs/encoder.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from byte_spectral.taps import gain, window_tensor


@dataclass(frozen=True, kw_only=True)
class Transform:
    """Window and bins, with what the baselines precompute for a device."""

    length: int
    bins: int
    window: Tensor  # float32 (length,), newest byte first, with the gain

    @staticmethod
    def on(device: torch.device, length: int, bins: int) -> Transform:
        window = window_tensor("tail", length)
        window = (window * gain(window)).float().to(device)
        return Transform(length=length, bins=bins, window=window)

    def signal(self, x: Tensor, left: int, right: int = 0) -> Tensor:
        return torch.nn.functional.pad(x.float() / 127.5 - 1, (left, right))

    def naive(self, x: Tensor) -> Tensor:
        """A loop over positions, a small FFT in each: the shape of the published plan."""
        signal = self.signal(x, self.length - 1)
        out = torch.empty((*x.shape, self.bins), device=x.device)
        oldest_first = self.window.flip(0)
        for t in range(x.shape[1]):
            frame = signal[:, t : t + self.length] * oldest_first
            out[:, t] = torch.fft.rfft(frame, n=2 * self.bins)[:, : self.bins].abs()
        return out

    def rfft(self, x: Tensor) -> Tensor:
        """All frames at once, as a view, through one batched FFT."""
        frames = self.signal(x, self.length - 1).unfold(1, self.length, 1) * self.window.flip(0)
        return torch.fft.rfft(frames, n=2 * self.bins)[..., : self.bins].abs()

    def stft(self, x: Tensor) -> Tensor:
        """torch.stft, made causal: it centres a short window in the frame of 2 * bins samples."""
        before = (2 * self.bins - self.length) // 2
        signal = self.signal(x, before + self.length - 1, 2 * self.bins - before - self.length)
        found = torch.stft(
            signal,
            2 * self.bins,
            hop_length=1,
            win_length=self.length,
            window=self.window.flip(0),
            center=False,
            return_complex=True,
        )
        return found.transpose(1, 2)[..., : self.bins].abs()
