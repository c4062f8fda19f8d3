"""All checks, in the order in which doctor prints them: what others rest on comes first."""

from __future__ import annotations

from tritonwin.problems.check import Check
from tritonwin.problems.checks import (
    caches,
    compiler,
    cuda,
    gpu,
    machine,
    packages,
    pairs,
    python_files,
    triton,
)

_MODULES = (machine, gpu, triton, pairs, python_files, packages, compiler, cuda, caches)

CHECKS: tuple[Check, ...] = tuple(
    found for module in _MODULES for found in vars(module).values() if isinstance(found, Check)
)
