"""Compile a kernel to a cubin for a named GPU architecture. No GPU is needed."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ELF = b"\x7fELF"


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 128 + tl.arange(0, 128)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def signature() -> dict[Any, str]:
    """Arguments by name; Triton before 3.2 counts them."""
    types = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2):
        return dict(enumerate(types.values()))
    return types


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    arch = arguments["arch"]
    source = triton.compiler.ASTSource(fn=add, signature=signature())
    compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32))
    cubin = compiled.asm["cubin"]
    if not cubin.startswith(_ELF):
        msg = f"ptxas gave no cubin: {cubin[:16]!r}"
        raise RuntimeError(msg)
    lines = compiled.asm["ptx"].count("\n")
    stages = {f"{stage}, bytes": len(compiled.asm[stage]) for stage in compiled.asm}
    return f"sm_{arch}: a cubin of {len(cubin)} bytes, {lines} lines of PTX", stages
