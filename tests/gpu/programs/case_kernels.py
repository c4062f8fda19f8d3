"""One kernel under three names, two of which can be loaded later: p0 = p1 + n0, n1 numbers."""

import triton
import triton.language as tl


@triton.jit
def kernel(p0, p1, n0, n1, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(p0 + at, tl.load(p1 + at) + n0, mask=at < n1)


@triton.jit
def other(p0, p1, n0, n1, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(p0 + at, tl.load(p1 + at) + n0, mask=at < n1)


@triton.jit
def third(p0, p1, n0, n1, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(p0 + at, tl.load(p1 + at) + n0, mask=at < n1)
