"""`ByteSpectral`: the encoder as a module."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from byte_spectral import choose
from byte_spectral.functional import (
    Backend,
    byte_spectral,
    byte_spectral_linear,
    byte_spectral_taps,
)
from byte_spectral.spec import make_spec
from byte_spectral.streaming import StreamState, encode_piece
from byte_spectral.taps import dft_taps, window_tensor


class ByteSpectral(nn.Module):
    """Bytes (B, T) -> features (B, T, E).

    Args:
        window, dtype, backend: as of `byte_spectral`.
        transform: W, K, N, parts, causal and precision, likewise.
        learnable: False, "window" (the W window values) or "taps" (the W x 2K map, DFT at first).
        project: D; a linear layer follows, fused where its weight is half precision (also by
            autocast) and nothing before it learns. The output is then (B, T, D).
        embed: the output is that plus an embedding of each byte (256, D), in the same kernel.

    Attributes:
        features: E.
        window, taps, projection, embedding: what learns, where it was asked for.
    """

    def __init__(
        self,
        *,
        window: str | torch.Tensor = "tail",
        dtype: torch.dtype = torch.float32,
        learnable: bool | str = False,
        project: int | None = None,
        embed: bool = False,
        backend: Backend = "auto",
        **transform: Any,
    ) -> None:
        super().__init__()
        self.spec = make_spec(**transform)
        if learnable not in (False, "window", "taps"):
            raise ValueError(f'learnable must be False, "window" or "taps", not {learnable!r}')
        if project is not None and project < 1:
            raise ValueError(
                f"project (what the features become) must be at least 1, not {project}"
            )
        choose.check_choice(backend, dtype)
        self.learnable = learnable
        self.dtype = dtype
        self.backend = backend
        self.features = self.spec.features
        self.window: str | torch.Tensor
        values = window_tensor(window, self.spec.W)  # also a check
        if learnable == "window":
            self.window = nn.Parameter(values.float())
        elif isinstance(window, str):
            self.window = window
        else:
            self.register_buffer("window", values.float())
        if learnable == "taps":
            self.taps = nn.Parameter(dft_taps(self.spec, window).float())
        self.projection = None if project is None else nn.Linear(self.features, project)
        if embed and project is None:
            raise ValueError("embed needs project: what the features become, to be added to")
        self.embedding = nn.Embedding(256, project) if embed and project is not None else None

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        spec = self.spec
        if self.learnable == "taps":
            found = byte_spectral_taps(
                x, self.taps, parts=spec.parts, causal=spec.causal, precision=spec.precision,
                dtype=self.dtype, lengths=lengths, backend=self.backend,
            )  # fmt: skip
        elif self.projection is not None and not self.learnable:
            table = None if self.embedding is None else self.embedding.weight
            return byte_spectral_linear(
                x, self.projection.weight, self.projection.bias,
                embedding=table, W=spec.W, N=spec.N,
                parts=spec.parts, window=self.window, causal=spec.causal,
                precision=spec.precision, lengths=lengths, backend=self.backend,
            )  # fmt: skip
        else:
            found = byte_spectral(
                x, W=spec.W, K=spec.K, N=spec.N, parts=spec.parts, window=self.window,
                causal=spec.causal, precision=spec.precision, dtype=self.dtype, lengths=lengths,
                backend=self.backend,
            )  # fmt: skip
        return self._projected(found, x)

    def _projected(self, found: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """Behind the linear layer, where there is one; it gets features of its weight's type."""
        if self.projection is None:
            return found
        if choose.autocast_type(found.device) is None:
            found = found.to(self.projection.weight.dtype)
        projected: torch.Tensor = self.projection(found)
        return projected if self.embedding is None else projected + self.embedding(x.long())

    def stream(
        self, x: torch.Tensor, state: StreamState | None = None
    ) -> tuple[torch.Tensor, StreamState]:
        """Features of the next piece of a stream, and the state to give with the piece after it."""
        if self.learnable or not isinstance(self.window, str):
            raise ValueError("stream() is for named windows that do not learn")
        found, following = encode_piece(x, state, self.spec, self.window, self.dtype, self.backend)
        return self._projected(found, x), following

    def extra_repr(self) -> str:
        given = dataclasses.asdict(self.spec) | {"learnable": self.learnable}
        return ", ".join(f"{name}={value!r}" for name, value in given.items())
