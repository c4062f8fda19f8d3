"""Shared by the encoder's tests on a GPU: bytes, and how far apart two results are."""

from __future__ import annotations

import torch


def random_bytes(*shape: int, seed: int = 0) -> torch.Tensor:
    source = torch.Generator(device="cuda").manual_seed(seed)
    return torch.randint(256, shape, dtype=torch.uint8, device="cuda", generator=source)


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative, Frobenius; all that was found is finite."""
    assert found.shape == wanted.shape
    assert bool(torch.isfinite(found).all())
    return float(
        (found.double() - wanted.double()).norm() / wanted.double().norm().clamp_min(1e-30)
    )
