"""The kernels of stages.py: masks and pointers, tl.dot, a reduction, a loop, fp8 and int64."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 128 + tl.arange(0, 128)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@triton.jit
def matmul(x_ptr, y_ptr, out_ptr, k):
    rows = tl.arange(0, 32)[:, None]
    columns = tl.arange(0, 32)[None, :]
    total = tl.zeros((32, 32), dtype=tl.float32)
    for start in range(0, k, 32):
        x = tl.load(x_ptr + rows * k + start + columns)
        y = tl.load(y_ptr + (start + rows) * 32 + columns)
        total = tl.dot(x, y, total)
    tl.store(out_ptr + rows * 32 + columns, total)


@triton.jit
def softmax(x_ptr, out_ptr, width):
    columns = tl.arange(0, 256)
    row = tl.load(x_ptr + tl.program_id(0) * width + columns, columns < width, -float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out_ptr + tl.program_id(0) * width + columns, powers / tl.sum(powers, axis=0))


@triton.jit
def fp8(x_ptr, out_ptr):
    offsets = tl.arange(0, 128)
    small = tl.load(x_ptr + offsets).to(tl.float8e4nv)
    tl.store(out_ptr + offsets, small.to(tl.float32))


@triton.jit
def scaled(x_ptr, out_ptr, n, big, scale, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = (offsets < n) & (offsets < big)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * scale, mask=mask)


SIGNATURES = {
    add: {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"},
    matmul: {"x_ptr": "*fp16", "y_ptr": "*fp16", "out_ptr": "*fp32", "k": "i32"},
    softmax: {"x_ptr": "*fp32", "out_ptr": "*fp32", "width": "i32"},
    fp8: {"x_ptr": "*fp32", "out_ptr": "*fp32"},
}
