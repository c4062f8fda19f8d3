"""Compile a kernel that converts to fp8 e4m3, for a named GPU architecture. No GPU is needed."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@triton.jit
def convert(x_ptr, out_ptr):
    offsets = tl.arange(0, 128)
    small = tl.load(x_ptr + offsets).to(tl.float8e4nv)
    tl.store(out_ptr + offsets, small.to(tl.float32))


def prove(arguments: dict[str, Any]) -> str:
    arch = arguments["arch"]
    types: dict[Any, str] = {"x_ptr": "*fp32", "out_ptr": "*fp32"}
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2):
        types = dict(enumerate(types.values()))
    source = triton.compiler.ASTSource(fn=convert, signature=types)
    compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32))
    return f"sm_{arch}: a cubin of {len(compiled.asm['cubin'])} bytes"
