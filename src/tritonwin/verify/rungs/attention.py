"""Attention in plain arithmetic, which every fast one is held against."""

from __future__ import annotations

import torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torch import Tensor


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
    """The name of a type in figures and details, the same in every rung: fp16, bf16, fp32."""
    return {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32"}[dtype]
