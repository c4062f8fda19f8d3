"""flash_attn forward against float64: head sizes, causal masks, grouped heads, number formats."""

from __future__ import annotations

from itertools import product

import flash_attn
import torch
from attention import attention, random, short
from compare import Judge, seed
from flash_attn import flash_attn_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZES = (64, 96, 128, 192, 256)
HEADS = 6
# (batch, length): few blocks for a large card, whose multiprocessors then share the keys of a block
# (flash_fwd_splitkv_kernel), and enough for each to have its own (flash_fwd_kernel)
SHAPES = ((2, 257), (4, 900))


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    del arguments
    seed()
    judge = Judge()
    for dtype in (torch.float16, torch.bfloat16):
        for size in SIZES:
            for causal, key_heads, shape in product((False, True), (HEADS, 2), SHAPES):
                (q,) = random(*shape, HEADS, size, dtype)
                k, v = random(*shape, key_heads, size, dtype, 2)
                exact = attention(q.double(), k.double(), v.double(), causal=causal)
                usual = attention(q, k, v, causal=causal)
                name = f"{short(dtype)}, size {size}, heads {HEADS}:{key_heads}, length {shape[1]}"
                name += ", causal" if causal else ""
                judge.as_right_as(name, flash_attn_func(q, k, v, causal=causal), usual, exact)
    cases = len(judge.figures)
    return judge.verdict(f"flash_attn {flash_attn.__version__}: {cases} cases right")
