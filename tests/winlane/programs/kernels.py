"""Runs inside Windows: KERNEL DTYPE BLOCK N, from source to a launch on the fake driver."""

import ctypes
import sys

import triton
import triton.language as tl


class Tensor:
    """An argument with all that the launcher asks of it: no torch is needed."""

    def __init__(self, dtype="fp32", length=4096):
        self.dtype = dtype
        self.memory = (ctypes.c_float * length)()

    def data_ptr(self):
        return ctypes.addressof(self.memory)


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@triton.jit
def dot(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    columns = tl.arange(0, BLOCK)[None, :]
    place = rows * BLOCK + columns
    product = tl.dot(tl.load(x_ptr + place), tl.load(y_ptr + place))
    tl.store(out_ptr + place, product)


@triton.jit
def fp8(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    small = tl.load(x_ptr + offsets).to(tl.float8e4nv)
    tl.store(out_ptr + offsets, small.to(tl.float32))


def main():
    name, dtype, block, n = sys.argv[1:]
    kernel = {"add": add, "dot": dot, "fp8": fp8}[name]
    out = Tensor("i32" if dtype == "i8" else "fp32")
    kernel[(1,)](Tensor(dtype), Tensor(dtype), out, int(n), BLOCK=int(block))
    print(f"{name} ran on {triton.runtime.driver.active.get_current_target()}")


main()
