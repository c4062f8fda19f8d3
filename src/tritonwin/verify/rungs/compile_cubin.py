"""Compile a kernel to a cubin for a named GPU architecture. No GPU is needed."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget

_ELF = b"\x7fELF"


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n):
    offsets = tl.program_id(0) * 128 + tl.arange(0, 128)
    mask = offsets < n
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@triton.jit
def convert(x_ptr, out_ptr):
    offsets = tl.arange(0, 128)
    small = tl.load(x_ptr + offsets).to(tl.float8e4nv)
    tl.store(out_ptr + offsets, small.to(tl.float32))


KERNELS = {
    "add": (add, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}),
    "fp8": (convert, {"x_ptr": "*fp32", "out_ptr": "*fp32"}),
}


def source_of(kernel: Any, types: dict[str, str], constants: dict[str, int] | None = None) -> Any:
    """Arguments by name; Triton before 3.2 counts them, and names constants by their place."""
    fixed = constants or {}
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 2):
        signature: dict[Any, str] = dict(enumerate(types.values()))
        places: dict[Any, int] = {len(types) + n: v for n, v in enumerate(fixed.values())}
    else:
        signature = {**types, **dict.fromkeys(fixed, "constexpr")}
        places = {(len(types) + n,): v for n, v in enumerate(fixed.values())}
    return triton.compiler.ASTSource(kernel, signature, places)


def compiled_kernel(name: str, target: GPUTarget) -> tuple[Any, Any]:
    """The source and what Triton makes of it."""
    source = source_of(*KERNELS[name])
    return source, triton.compile(source, target=target)


def cuda(arch: int) -> GPUTarget:
    return GPUTarget("cuda", arch, 32)


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    arch = arguments["arch"]
    _, compiled = compiled_kernel(arguments.get("kernel", "add"), cuda(arch))
    cubin = compiled.asm["cubin"]
    if not cubin.startswith(_ELF):
        raise RuntimeError(f"ptxas gave no cubin: {cubin[:16]!r}")
    lines = compiled.asm["ptx"].count("\n")
    stages = {f"{stage}, bytes": len(compiled.asm[stage]) for stage in compiled.asm}
    return f"sm_{arch}: a cubin of {len(cubin)} bytes, {lines} lines of PTX", stages
