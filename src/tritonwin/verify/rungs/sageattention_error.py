"""SageAttention against float64. It computes in 8 bits, so its error is measured, not its bits."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import torch
from compare import Judge, attention, random, relative_error, seed, short
from sageattention import sageattn

# The paper's tables (arXiv 2410.02367 and 2411.10958): cosine similarity above 0.99 and relative
# L1 below 0.1 for all of its kernels, on the inputs of models; random ones are easier.
MOST_RELATIVE = 0.1
MOST_FROM_COSINE = 0.01


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    for dtype in (torch.float16, torch.bfloat16):
        for size in (64, 128):
            for causal in (False, True):
                q, k, v = random(2, 512, 4, size, dtype, 3)
                found = sageattn(q, k, v, tensor_layout="NHD", is_causal=causal)
                exact = attention(q.double(), k.double(), v.double(), causal=causal)
                name = f"{short(dtype)}, size {size}{', causal' if causal else ''}"
                judge.hold(f"relative, {name}", relative_error(found, exact), MOST_RELATIVE)
                cosine = torch.nn.functional.cosine_similarity(
                    found.double().flatten(), exact.flatten(), dim=0
                )
                judge.hold(f"1 - cosine, {name}", 1 - float(cosine), MOST_FROM_COSINE)
    return judge.verdict(f"sageattention {version('sageattention')}: within its error of float64")
