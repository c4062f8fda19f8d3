"""xformers' memory_efficient_attention against float64, and the kernel that it takes."""

from __future__ import annotations

import torch
import xformers
from attention import attention, random
from compare import Judge, seed
from xformers.ops import LowerTriangularMask, memory_efficient_attention

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    del arguments
    seed()
    judge = Judge()
    for size in (64, 128):
        for causal in (False, True):
            q, k, v = random(2, 128, 4, size, torch.float16, 3)
            found = memory_efficient_attention(
                q, k, v, attn_bias=LowerTriangularMask() if causal else None
            )
            exact = attention(q.double(), k.double(), v.double(), causal=causal)
            usual = attention(q, k, v, causal=causal)
            name = f"size {size}{', causal' if causal else ''}"
            judge.as_right_as(name, found, usual, exact)
    return judge.verdict(f"xformers {xformers.__version__}: memory_efficient_attention is right")
