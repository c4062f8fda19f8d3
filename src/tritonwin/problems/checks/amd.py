"""AMD: is a ROCm there that Triton can use?"""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts
from tritonwin.problems.check import Check, NotApplicable, finding
from tritonwin.problems.model import Finding


def amd_paths(facts: Facts) -> Iterator[Finding]:
    amd = next((g for g in facts.gpus if g.vendor == "amd"), None)
    if amd is None or facts.nvidia_gpus:
        raise NotApplicable("no AMD GPU is in charge")
    if not facts.rocm:
        yield finding(
            "amd-rocm-paths",
            f"{amd.name}: neither ROCm wheels nor a HIP SDK were found",
            amd.source,
            severity="warning",
            gpu=amd.name,
        )
    for rocm in facts.rocm:
        if rocm.missing and not any(not r.missing for r in facts.rocm):
            yield finding(
                "amd-rocm-paths",
                f"ROCm in {rocm.path} lacks {', '.join(rocm.missing[:4])}",
                rocm.path,
                severity="warning",
                gpu=amd.name,
                path=rocm.path,
            )


CHECKS = (Check(id="amd-rocm-paths", title="ROCm is whole", run=amd_paths),)
