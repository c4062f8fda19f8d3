"""The kernels of `tritonwin bench`: plain ones, the same in every Triton."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import triton
import triton.language as tl

_LOCATIONS = re.compile(r"^\s*(?:\.(?:loc|file)\b|//|\$L__(?:tmp|BB|func)).*$", re.MULTILINE)


@triton.jit
def nothing(a, b, c, n):
    pass


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """c = a @ b for row-major fp16 whose sizes are multiples of the blocks."""
    program = tl.program_id(0)
    columns = N // BLOCK_N
    band = GROUP * columns
    first = program // band * GROUP
    rows = min(M // BLOCK_M - first, GROUP)
    row = (first + program % band % rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = program % band // rows * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_at = a + row[:, None] * K + inner[None, :]
    b_at = b + inner[:, None] * N + column[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += BLOCK_K
        b_at += BLOCK_K * N
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


def code_id(kernel: Any) -> str:
    """The same for two kernels whose PTX differs in nothing but where the source lies."""
    code = kernel.asm["ptx"].partition(".section\t.debug")[0]
    return hashlib.sha256(_LOCATIONS.sub("", code).encode()).hexdigest()[:16]
