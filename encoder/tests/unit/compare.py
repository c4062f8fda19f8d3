"""Shared by the tests on the CPU: bytes, and how far apart two results are."""

from __future__ import annotations

from typing import Any

import torch


def random_bytes(batch: int, length: int, seed: int = 0) -> torch.Tensor:
    source = torch.Generator().manual_seed(seed)
    return torch.randint(256, (batch, length), dtype=torch.uint8, generator=source)


def error(found: Any, wanted: torch.Tensor) -> float:
    """Relative, Frobenius; all that was found is finite."""
    found, wanted = torch.as_tensor(found).detach().double(), wanted.detach()
    assert found.shape == wanted.shape
    assert bool(torch.isfinite(found).all())
    return float((found - wanted).norm() / wanted.norm().clamp_min(1e-30))
