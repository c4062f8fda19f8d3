"""flash_attn against float64: forward, backward, and sequences of several lengths in one call."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Callable

import flash_attn
import torch
from compare import Judge, attention, random, seed, short
from flash_attn import flash_attn_func, flash_attn_varlen_func

if TYPE_CHECKING:
    from torch import Tensor

FORWARD_SIZES = (64, 96, 128, 192, 256)
FORWARD_HEADS = 6
# (batch, length): few blocks for a large card, whose multiprocessors then share the keys of a block
# (flash_fwd_splitkv_kernel), and enough for each to have its own (flash_fwd_kernel)
SHAPES = ((2, 257), (4, 900))
BACKWARD_SIZES = (64, 128, 256)
BACKWARD_HEADS = 4
LENGTHS = (5, 64, 131, 1, 300)
HEADS, KEY_HEADS, SIZE = 4, 2, 128


def forward() -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    for dtype in (torch.float16, torch.bfloat16):
        for size in FORWARD_SIZES:
            for causal, key_heads, shape in product((False, True), (FORWARD_HEADS, 2), SHAPES):
                (q,) = random(*shape, FORWARD_HEADS, size, dtype)
                k, v = random(*shape, key_heads, size, dtype, 2)
                exact = attention(q.double(), k.double(), v.double(), causal=causal)
                usual = attention(q, k, v, causal=causal)
                heads = f"heads {FORWARD_HEADS}:{key_heads}"
                name = f"{short(dtype)}, size {size}, {heads}, length {shape[1]}"
                name += ", causal" if causal else ""
                judge.as_right_as(name, flash_attn_func(q, k, v, causal=causal), usual, exact)
    cases = len(judge.figures)
    return judge.verdict(f"flash_attn {flash_attn.__version__}: {cases} cases right")


def gradients(
    function: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    weight: Tensor,
    *,
    causal: bool,
) -> tuple[Tensor, ...]:
    leaves = tuple(t.detach().requires_grad_() for t in inputs)
    out = function(*leaves, causal=causal)
    return torch.autograd.grad(out, leaves, weight)


def backward() -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    for dtype in (torch.float16, torch.bfloat16):
        for size in BACKWARD_SIZES:
            for causal in (False, True):
                q, weight = random(2, 129, BACKWARD_HEADS, size, dtype, 2)
                k, v = random(2, 129, BACKWARD_HEADS // 2, size, dtype, 2)
                doubles = tuple(t.double() for t in (q, k, v))
                exact = gradients(attention, doubles, weight.double(), causal=causal)
                usual = gradients(attention, (q, k, v), weight, causal=causal)
                found = gradients(flash_attn_func, (q, k, v), weight, causal=causal)
                name = f"{short(dtype)}, size {size}{', causal' if causal else ''}"
                for letter, a, b, c in zip("qkv", found, usual, exact):
                    judge.as_right_as(f"d{letter}, {name}", a, b, c, factor=3)
    cases = len(judge.figures)
    return judge.verdict(f"flash_attn {flash_attn.__version__}: {cases} gradients right")


def varlen() -> tuple[str, dict[str, Any]]:
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


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return {"forward": forward, "backward": backward, "varlen": varlen}[arguments["part"]]()
