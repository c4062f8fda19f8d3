"""Runs inside Windows: one kernel from source to a launch on the fake driver."""

import ctypes
import json

import triton
import triton.language as tl


class Tensor:
    """An argument with all that the launcher asks of it: no torch is needed."""

    dtype = "fp32"

    def __init__(self, length):
        self.memory = (ctypes.c_float * length)()

    def data_ptr(self):
        return ctypes.addressof(self.memory)


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


target = triton.runtime.driver.active.get_current_target()
print(json.dumps({"backend": target.backend, "arch": target.arch}), flush=True)
compiled = add_kernel[(7,)](Tensor(1000), Tensor(1000), Tensor(1000), 1000, BLOCK=256)
print(json.dumps({name: len(text) for name, text in compiled.asm.items()}))
