"""The floor: a kernel that does nothing but store an output of the same size."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

# elements a program, warps, and whether a launch may begin while the one before it ends, as the
# encoder's do on Hopper: the fastest differs between sizes and cards
VARIANTS = (
    (2048, 4, False),
    (4096, 4, False),
    (4096, 8, False),
    (8192, 8, False),
    (16384, 8, False),
    (4096, 4, True),
    (8192, 8, True),
)


@triton.jit
def _store(out, size, value, BLOCK: tl.constexpr, EARLY: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    # depends on the place, so that no two stores are known to be equal
    filled = (at & 1023).to(tl.float32) + value
    tl.store(out + at, filled.to(out.dtype.element_ty), mask=at < size)


def variants() -> list[tuple[int, int, bool]]:
    """Those that this card can run."""
    hopper = torch.cuda.get_device_capability() >= (9, 0)
    return [each for each in VARIANTS if hopper or not each[2]]


def store_only(
    shape: tuple[int, ...], dtype: torch.dtype, block: int, warps: int, early: bool
) -> Callable[[int], torch.Tensor]:
    """One variant; a call is a launch."""
    size = torch.Size(shape).numel()
    options = {"launch_pdl": True} if early else {}

    def launch(i: int) -> torch.Tensor:
        out = torch.empty(shape, dtype=dtype, device="cuda")
        _store[(triton.cdiv(size, block),)](
            out, size, float(i % 7), BLOCK=block, EARLY=early, num_warps=warps, **options
        )
        return out

    return launch
