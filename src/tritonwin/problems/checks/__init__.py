"""All checks, in the order in which doctor prints them: what others rest on comes first."""

from __future__ import annotations

from tritonwin.problems.check import Check
from tritonwin.problems.checks import (
    binaries,
    compiler,
    cuda,
    gpu,
    headers,
    machine,
    packages,
    run_time,
    sources,
)

CHECKS: tuple[Check, ...] = (
    *machine.CHECKS,
    *gpu.CHECKS,
    *packages.CHECKS,
    *sources.CHECKS,
    *binaries.CHECKS,
    *headers.CHECKS,
    *compiler.CHECKS,
    *cuda.CHECKS,
    *run_time.CHECKS,
)
