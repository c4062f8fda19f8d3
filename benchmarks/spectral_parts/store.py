"""The floor: a kernel that does nothing but store an output of the same size."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from spectral_parts.clock import Launch

# elements a program, warps: the fastest differs between sizes and cards
VARIANTS = ((2048, 4), (4096, 4), (4096, 8), (8192, 8), (16384, 8))


@triton.jit
def _store(out, size, value, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    # depends on the place, so that no two stores are known to be equal
    filled = (at & 1023).to(tl.float32) + value
    tl.store(out + at, filled.to(out.dtype.element_ty), mask=at < size)


def store_only(shape: tuple[int, ...], dtype: torch.dtype, block: int, warps: int) -> Launch:
    """One variant, as what `Clock.busy` times."""
    size = torch.Size(shape).numel()

    def launch(i: int) -> torch.Tensor:
        out = torch.empty(shape, dtype=dtype, device="cuda")
        _store[(triton.cdiv(size, block),)](out, size, float(i % 7), BLOCK=block, num_warps=warps)
        return out

    return launch
