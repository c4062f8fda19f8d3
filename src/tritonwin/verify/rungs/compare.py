"""Errors of results in rungs with torch: against float64, beside the same arithmetic in torch."""

from __future__ import annotations

import glob
import math
import os
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from torch import Tensor

SEED = 20261128


def seed() -> None:
    torch.manual_seed(SEED)


def error(found: Tensor, exact: Tensor) -> float:
    """The largest absolute difference; infinite where something is not a number."""
    difference = (found.double() - exact.double()).abs().max().item()
    return float(difference) if math.isfinite(difference) else math.inf


def relative_error(found: Tensor, exact: Tensor) -> float:
    """The sum of the differences over the sum of the numbers."""
    difference = (found.double() - exact.double()).abs().sum() / exact.double().abs().sum()
    return float(difference.item()) if math.isfinite(difference.item()) else math.inf


class Judge:
    """Collects errors; `verdict` raises when one was too large."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}
        self.bad: list[str] = []

    def hold(self, name: str, found: float, allowed: float) -> None:
        # JSON has no infinity
        shown = float(f"{found:.3g}") if math.isfinite(found) else "not a number"
        self.figures[f"error, {name}"] = shown
        # a measure that is no number itself would let everything pass
        if not found <= allowed or not math.isfinite(allowed):
            self.bad.append(f"{name}: error {found:.3g}, allowed {allowed:.3g}")

    def as_right_as(
        self,
        name: str,
        found: Tensor,
        usual: Tensor,
        exact: Tensor,
        factor: float = 2,
    ) -> None:
        """flash_attn's own criterion: at most `factor` times the error of torch's arithmetic."""
        self.hold(name, error(found, exact), factor * error(usual, exact) + 1e-4)

    def verdict(self, detail: str) -> tuple[str, dict[str, Any]]:
        if self.bad:
            raise AssertionError("; ".join(self.bad))
        return detail, self.figures


def cubins(scratch: str) -> int:
    """The number of kernels that were compiled below the folder."""
    return len(glob.glob(os.path.join(scratch, "**", "*.cubin"), recursive=True))


def attention(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False) -> Tensor:
    """softmax(q k^T / sqrt(size)) v in the type of the inputs.

    Shapes are (batch, length, heads, size), as flash_attn has them; where k and v have fewer heads,
    each serves a group of q's. A causal mask is aligned to the end, as flash_attn's is.
    """
    groups = q.shape[2] // k.shape[2]
    k, v = (t.repeat_interleave(groups, dim=2) for t in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if causal:
        rows, columns = scores.shape[-2:]
        seen = torch.ones(rows, columns, dtype=torch.bool, device=q.device).tril(columns - rows)
        scores = scores.masked_fill(~seen, float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(dim=-1), v)


def random(
    batch: int, length: int, heads: int, size: int, dtype: torch.dtype, count: int = 1
) -> tuple[Tensor, ...]:
    """`count` tensors of that shape on the GPU."""
    shape = (batch, length, heads, size)
    return tuple(torch.randn(shape, device="cuda").to(dtype) for _ in range(count))


def short(dtype: torch.dtype) -> str:
    """The name of a type in figures and details: float16."""
    return str(dtype).replace("torch.", "")
