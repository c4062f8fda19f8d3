"""All checks, in the order in which doctor prints them: what others rest on comes first."""

from __future__ import annotations

from tritonwin.problems.check import Check
from tritonwin.problems.checks import (
    amd,
    attention,
    build_variables,
    caches,
    compiler,
    cuda,
    gpu,
    headers,
    letters,
    machine,
    packages,
    pairs,
    sources,
    triton_package,
    vc_runtime,
)

CHECKS: tuple[Check, ...] = (
    *machine.CHECKS,
    *gpu.CHECKS,
    *triton_package.CHECKS,
    *pairs.CHECKS,
    *sources.CHECKS,
    *vc_runtime.CHECKS,
    *packages.CHECKS,
    *attention.CHECKS,
    *headers.CHECKS,
    *compiler.CHECKS,
    *letters.CHECKS,
    *cuda.CHECKS,
    *caches.CHECKS,
    *amd.CHECKS,
    *build_variables.CHECKS,
)
