"""torch's scaled_dot_product_attention with each of its kernels, against float64."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from compare import Judge, attention, random, seed, short
from torch.nn.functional import scaled_dot_product_attention

if TYPE_CHECKING:
    from torch import Tensor

# how torch says that it has no such kernel
ABSENT = ("No available kernel", "No viable backend", "cuDNN")
KERNELS = ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")


def run(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> Tensor:
    heads_first = (t.transpose(1, 2) for t in (q, k, v))
    return scaled_dot_product_attention(*heads_first, is_causal=causal).transpose(1, 2)


def with_kernel(name: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor | None:
    """None where torch has no such kernel for these inputs."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = getattr(SDPBackend, name, None)
    if backend is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says why a kernel does not serve
        try:
            with sdpa_kernel(backend):
                return run(q, k, v, causal=True)
        except RuntimeError as error:
            if any(words in str(error) for words in ABSENT):
                return None
            raise


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    judge = Judge()
    there = []
    types = [torch.float16]
    if torch.cuda.is_bf16_supported():
        types.append(torch.bfloat16)
    for dtype in types:
        for causal in (False, True):
            q, k, v = random(2, 130, 4, 64, dtype, 3)
            exact = attention(q.double(), k.double(), v.double(), causal=causal)
            usual = attention(q, k, v, causal=causal)
            name = f"{short(dtype)}{', causal' if causal else ''}"
            judge.as_right_as(name, run(q, k, v, causal=causal), usual, exact)
    q, k, v = random(2, 130, 4, 64, torch.float16, 3)
    exact = attention(q.double(), k.double(), v.double(), causal=True)
    usual = attention(q, k, v, causal=True)
    for kernel in KERNELS:
        found = with_kernel(kernel, q, k, v)
        judge.figures[kernel.lower()] = found is not None
        if found is not None:
            there.append(kernel.lower())
            judge.as_right_as(kernel.lower(), found, usual, exact)
    return judge.verdict(f"right; kernels of torch {torch.__version__}: {', '.join(there)}")
