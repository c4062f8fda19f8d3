"""Encoding a stream in pieces: what one piece hands to the next is its last W-1 bytes."""

from __future__ import annotations

import dataclasses

import torch

from byte_spectral import choose, fallback, ops
from byte_spectral.checks import bytes_of
from byte_spectral.spec import Spec


@dataclasses.dataclass(frozen=True, kw_only=True)
class StreamState:
    """The newest bytes of each row before the next piece, at most W-1; fewer at the start.

    Attributes:
        bytes: uint8 (B, n).
    """

    bytes: torch.Tensor


def _bytes_before(state: StreamState) -> torch.Tensor:
    if not isinstance(state, StreamState):
        raise TypeError(
            f"state must be what stream() gave for the piece before, not {type(state).__name__}"
        )
    return bytes_of(state.bytes)


def encode_piece(
    x: torch.Tensor,
    state: StreamState | None,
    spec: Spec,
    window: str,
    dtype: torch.dtype,
    backend: str,
) -> tuple[torch.Tensor, StreamState]:
    """Features of the piece alone, as if the whole stream had been given, and the next state."""
    if not spec.causal:
        raise ValueError(
            "a centred window sees bytes that a stream has not brought yet; use causal=True"
        )
    x = bytes_of(x)
    skip = 0
    if state is not None:
        before = _bytes_before(state)
        if before.shape[0] != x.shape[0]:
            raise ValueError(f"the state is of {before.shape[0]} rows, x has {x.shape[0]}")
        skip = before.shape[1]
        x = torch.cat([before, x], dim=1)
    following = StreamState(bytes=x[:, max(0, x.shape[1] - (spec.W - 1)) :].contiguous())
    if not choose.use_triton(x.device, backend, dtype):
        return fallback.encode(x, spec, window, dtype)[:, skip:], following
    features = ops.encode(
        x, None, spec.W, spec.K, spec.N, spec.parts, window, spec.causal, spec.precision, dtype,
        skip,
    )  # fmt: skip
    return features, following
