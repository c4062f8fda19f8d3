"""The gradients of flash_attn against float64."""

from __future__ import annotations

import flash_attn
import torch
from attention import attention, random, short
from compare import Judge, seed
from flash_attn import flash_attn_func

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from torch import Tensor

SIZES = (64, 128, 256)
HEADS = 4


def gradients(
    function: Callable[..., Tensor], inputs: tuple[Tensor, ...], weight: Tensor, *, causal: bool
) -> tuple[Tensor, ...]:
    leaves = tuple(t.detach().requires_grad_() for t in inputs)
    out = function(*leaves, causal=causal)
    return torch.autograd.grad(out, leaves, weight)


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    del arguments
    seed()
    judge = Judge()
    for dtype in (torch.float16, torch.bfloat16):
        for size in SIZES:
            for causal in (False, True):
                q, weight = random(2, 129, HEADS, size, dtype, 2)
                k, v = random(2, 129, HEADS // 2, size, dtype, 2)
                doubles = tuple(t.double() for t in (q, k, v))
                exact = gradients(attention, doubles, weight.double(), causal=causal)
                usual = gradients(attention, (q, k, v), weight, causal=causal)
                found = gradients(flash_attn_func, (q, k, v), weight, causal=causal)
                name = f"{short(dtype)}, size {size}{', causal' if causal else ''}"
                for letter, a, b, c in zip("qkv", found, usual, exact):
                    judge.as_right_as(f"d{letter}, {name}", a, b, c, factor=3)
    cases = len(judge.figures)
    return judge.verdict(f"flash_attn {flash_attn.__version__}: {cases} gradients right")
