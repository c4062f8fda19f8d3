"""Variables that steer builds: no stray blanks, and not more jobs than the memory carries."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts
from tritonwin.problems.check import Check, NotApplicable, finding
from tritonwin.problems.model import Finding

# GiB of one nvcc thread on the heaviest of flash-attn's files, measured (docs: build).
_GIB_A_THREAD = 7
_BUILD_VARIABLES = (
    "MAX_JOBS",
    "NVCC_THREADS",
    "BUILD_TARGET",
    "DISTUTILS_USE_SDK",
    "FLASH_ATTN_CUDA_ARCHS",
    "FLASH_ATTENTION_FORCE_BUILD",
    "FLASH_ATTENTION_SKIP_CUDA_BUILD",
    "TORCH_CUDA_ARCH_LIST",
    "CUDA_PATH",
    "CUDA_HOME",
    "TRITON_OFFLINE_BUILD",
    "TRITON_BUILD_PROTON",
    "TRITON_BUILD_WITH_CCACHE",
)


def variable_blanks(facts: Facts) -> Iterator[Finding]:
    for name in _BUILD_VARIABLES:
        variable = facts.variable(name)
        if variable is None:
            continue
        if variable.flaws:
            yield finding(
                "build-variable-blanks",
                f'{name} is "{variable.value}": {" and ".join(variable.flaws)}',
                f"variable {name} ({variable.scope})",
                variable=name,
                value=variable.value,
                new_value=variable.value.strip(" \t;\"'"),
            )


def build_limits(facts: Facts) -> Iterator[Finding]:
    jobs, memory = _number(facts, "MAX_JOBS"), facts.system.memory_bytes
    if jobs is None or memory is None:
        raise NotApplicable("MAX_JOBS is not set")
    threads = _number(facts, "NVCC_THREADS") or 1
    needed, have = jobs * threads * _GIB_A_THREAD, memory / 2**30
    if needed > have:
        yield finding(
            "build-resource-limits",
            f"MAX_JOBS={jobs} with {threads} nvcc thread(s) may need {needed} GiB, "
            f"this machine has {have:.0f}",
            "variable MAX_JOBS",
            certainty="likely",
            severity="warning",
            variable="MAX_JOBS",
            value=str(jobs),
        )


def _number(facts: Facts, name: str) -> int | None:
    variable = facts.variable(name)
    text = variable.value.strip() if variable else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None


CHECKS = (
    Check(
        id="build-variable-blanks",
        title="build variables hold no stray blanks or quotes",
        run=variable_blanks,
        windows_only=False,
    ),
    Check(
        id="build-resource-limits",
        title="the number of build jobs fits the memory",
        run=build_limits,
        windows_only=False,
    ),
)
