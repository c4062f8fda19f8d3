"""Sequences of several lengths in one flash_attn call, each against float64 alone."""

from __future__ import annotations

import flash_attn
import torch
from attention import attention, random
from compare import Judge, seed
from flash_attn import flash_attn_varlen_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LENGTHS = (5, 64, 131, 1, 300)
HEADS, KEY_HEADS, SIZE = 4, 2, 128


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    del arguments
    seed()
    judge = Judge()
    edges = [sum(LENGTHS[:n]) for n in range(len(LENGTHS) + 1)]
    places = torch.tensor(edges, dtype=torch.int32, device="cuda")
    q = random(1, edges[-1], HEADS, SIZE, torch.float16)[0][0]
    k, v = (t[0] for t in random(1, edges[-1], KEY_HEADS, SIZE, torch.float16, 2))
    for causal in (False, True):
        longest = max(LENGTHS)
        packed = flash_attn_varlen_func(
            q, k, v, places, places, longest, longest, causal=causal
        )  # fmt: skip
        for n, length in enumerate(LENGTHS):
            rows = slice(edges[n], edges[n + 1])
            parts = tuple(t[rows][None] for t in (q, k, v))
            exact = attention(*(t.double() for t in parts), causal=causal)
            usual = attention(*parts, causal=causal)
            name = f"length {length}{', causal' if causal else ''}"
            judge.as_right_as(name, packed[rows][None], usual, exact)
    return judge.verdict(f"flash_attn {flash_attn.__version__}: lengths {LENGTHS} right")
