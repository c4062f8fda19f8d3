"""Let Triton's autotuner measure three forms of a kernel and keep one."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from compare import seed

COUNT = 1_000_003


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (128, 512, 2048)],
    key=["n"],
)
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def prove() -> tuple[str, dict[str, Any]]:
    seed()
    x = torch.randn(COUNT, device="cuda")
    for _ in range(2):
        out = torch.full_like(x, float("nan"))
        scale[lambda meta: (triton.cdiv(COUNT, meta["BLOCK"]),)](x, out, COUNT)
        if not torch.equal(out, 2 * x):
            raise AssertionError(f"{int((out != 2 * x).sum())} of {COUNT} numbers are wrong")
    if len(scale.cache) != 1:
        raise AssertionError(f"one choice should have been kept, not {len(scale.cache)}")
    best = scale.best_config.kwargs["BLOCK"]
    return f"3 forms measured, BLOCK={best} kept", {"block": best}
