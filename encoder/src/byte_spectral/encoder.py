"""`ByteSpectral`: the encoder as a module."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import nn

from byte_spectral import choose
from byte_spectral.checks import bytes_of, lengths_of
from byte_spectral.functional import Backend, encode, project
from byte_spectral.spec import make_spec
from byte_spectral.taps import dft_taps, window_tensor


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamState:
    """The newest bytes of each row before the next piece, at most W-1; fewer at the start.

    Attributes:
        bytes: uint8 (B, n).
    """

    bytes: torch.Tensor


class ByteSpectral(nn.Module):
    """Bytes (B, T) -> features (B, T, E).

    Args:
        window, dtype, backend: as of `byte_spectral`.
        transform: W, K, N, parts, causal and precision, likewise.
        learnable: False, "window" (the W window values) or "taps" (the W x 2K map, DFT at first).
        project: D; a linear layer follows, fused where its weight is half precision (also by
            autocast) and nothing before it learns. The output is then (B, T, D).
        embed: the output is that plus an embedding of each byte (256, D), in the same kernel.
        gated: the embedding times the sigmoid of that, rather than their sum.

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
        gated: bool = False,
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
        if gated and not embed:
            raise ValueError("gated needs embed=True: the embedding is what the gate is for")
        self.gated = gated
        self.embedding = nn.Embedding(256, project) if embed and project is not None else None

    def forward(self, x: torch.Tensor, lengths: torch.Tensor | None = None) -> torch.Tensor:
        x = bytes_of(x)
        return self._run(x, lengths_of(lengths, x), 0)

    def _run(self, x: torch.Tensor, lengths: torch.Tensor | None, skip: int) -> torch.Tensor:
        """For checked bytes, the first `skip` of each row being history."""
        spec, linear = self.spec, self.projection
        window = self.taps if self.learnable == "taps" else self.window
        if linear is None:
            return encode(x, spec, window, self.dtype, lengths, self.backend, skip)
        table = None if self.embedding is None else self.embedding.weight
        return project(x, spec, linear.weight, linear.bias, table, self.gated, window, lengths,
                       self.backend, skip)  # fmt: skip

    def stream(
        self, x: torch.Tensor, state: StreamState | None = None
    ) -> tuple[torch.Tensor, StreamState]:
        """Features of the next piece of a stream, and the state to give with the piece after it."""
        if self.learnable or not isinstance(self.window, str):
            raise ValueError("stream() is for named windows that do not learn")
        if not self.spec.causal:
            raise ValueError(
                "a centred window sees bytes that a stream has not brought yet; use causal=True"
            )
        x, skip = bytes_of(x), 0
        if state is not None:
            if not isinstance(state, StreamState):
                raise TypeError(
                    "state must be what stream() gave for the piece before, "
                    f"not {type(state).__name__}"
                )
            before = bytes_of(state.bytes)
            if before.shape[0] != x.shape[0]:
                raise ValueError(f"the state is of {before.shape[0]} rows, x has {x.shape[0]}")
            skip = before.shape[1]
            x = torch.cat([before, x], dim=1)
        kept = x[:, max(0, x.shape[1] - (self.spec.W - 1)) :]
        return self._run(x, None, skip), StreamState(bytes=kept.contiguous())

    def extra_repr(self) -> str:
        given = dataclasses.asdict(self.spec) | {"learnable": self.learnable}
        return ", ".join(f"{name}={value!r}" for name, value in given.items())
