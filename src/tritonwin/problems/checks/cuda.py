"""CUDA toolkits for kernels and for builds, and the variables that steer builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tritonwin.facts.records import CudaToolkit, Facts
from tritonwin.problems.check import (
    NotApplicable,
    Seen,
    check,
    need,
    need_torch,
    need_triton,
    nvidia_capability,
    seen,
)
from tritonwin.support import matrix
from tritonwin.support.versions import fits, parse

# What Triton takes from a toolkit; without all three it goes on to its bundled tools.
_JIT_PARTS = {"ptxas": "ptxas", "header": "cuda.h", "library": "cuda.lib"}


def _named(facts: Facts) -> Sequence[tuple[str, CudaToolkit]]:
    found = tuple((t.variable, t) for t in facts.cuda_toolkits if t.variable)
    return need(found, "neither CUDA_PATH nor CUDA_HOME is set")


@check("cuda-path-wrong")
def cuda_path_wrong(facts: Facts) -> Iterator[Seen]:
    for name, toolkit in _named(facts):
        lacking = [name for p, name in _JIT_PARTS.items() if getattr(toolkit, p) is None]
        if not toolkit.exists:
            reason = "the folder does not exist"
        elif toolkit.version and fits(toolkit.version, "<12"):
            reason = f"CUDA {toolkit.version}; Triton needs 12 or later"
        elif lacking:
            reason = f"incomplete: {', '.join(lacking)} not there"
        else:
            continue
        yield seen(
            f"{name} is {toolkit.path}: {reason}",
            f"variable {name}",
            variable=name,
            value=toolkit.path,
            cuda_version=toolkit.version,
        )


@check("ptxas-older-than-ptx")
def ptxas_older(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    bundled = parse(triton.ptxas_version or "")
    for name, toolkit in _named(facts):
        version = parse(toolkit.version or "")
        if toolkit.ptxas is None or version is None or bundled is None or version.major < 12:
            continue
        if version >= bundled:
            continue
        yield seen(
            f"{name} puts ptxas {version} before the bundled {bundled} of Triton {triton.version}",
            toolkit.ptxas,
            certainty="certain" if _gpu_needs(facts, str(version)) else "possible",
            severity="error" if _gpu_needs(facts, str(version)) else "warning",
            variable=name,
            value=toolkit.path,
            cuda_version=toolkit.version,
        )


def _gpu_needs(facts: Facts, cuda: str) -> bool:
    """True where the GPU's generation needs a newer CUDA than this."""
    try:
        generation = matrix.load().generation(nvidia_capability(facts))
    except NotApplicable:
        return False
    return bool(generation and generation.cuda and not fits(cuda, generation.cuda))


def _build_toolkits(facts: Facts) -> tuple[str, list[CudaToolkit]]:
    torch = need_torch(facts)
    cuda = need(torch.cuda, "torch is built without CUDA")
    major = cuda.split(".")[0]
    fitting = [
        t for t in facts.cuda_toolkits if t.nvcc and t.version and t.version.split(".")[0] == major
    ]
    return cuda, fitting


@check("cuda-toolkit-for-build")
def toolkit_for_build(facts: Facts) -> Iterator[Seen]:
    wanted, fitting = _build_toolkits(facts)
    if not fitting:
        others = [t for t in facts.cuda_toolkits if t.nvcc]
        have = f"only CUDA {others[0].version}" if others else "no toolkit with nvcc"
        yield seen(
            f"{have} was found; building an extension for this torch needs CUDA {wanted}",
            others[0].path if others else "CUDA_PATH, Program Files, pip, conda",
        )


@check("nvcc-host-compiler-mismatch")
def host_compiler(facts: Facts) -> Iterator[Seen]:
    _, fitting = _build_toolkits(facts)
    toolsets = [t for t in facts.msvc if t.compiler]
    need(fitting and toolsets, "no pair of CUDA toolkit and Visual C++ to compare")
    accepted = [
        rule.msvc if (rule := matrix.load().nvcc_host(toolkit.version or "")) else ""
        for toolkit in fitting
    ]
    if any(not known or any(fits(t.version, known) for t in toolsets) for known in accepted):
        return
    toolkit, toolset = fitting[0], toolsets[0]
    yield seen(
        f"nvcc {toolkit.version} accepts Visual C++ {accepted[0]}, installed is "
        f"{', '.join(t.version for t in toolsets)}",
        toolkit.nvcc or toolkit.path,
        toolset=toolset.version,
        cuda_version=toolkit.version,
    )


# GiB of one nvcc thread on the heaviest of flash-attn's files, measured (docs: build).
_GIB_A_THREAD = 7


# Variables that build scripts read, in which blanks and quotes are taken for a part of the value.
_OF_BUILDS = ("BUILD_", "CUDA_", "DISTUTILS_", "FLASH_", "MAX_JOBS", "NVCC_", "TORCH_", "TRITON_")


@check("build-variable-blanks")
def variable_blanks(facts: Facts) -> Iterator[Seen]:
    for name in sorted({v.name for v in facts.variables if v.name.startswith(_OF_BUILDS)}):
        variable = facts.variable(name)
        if variable and variable.flaws:
            yield seen(
                f'{name} is "{variable.value}": {" and ".join(variable.flaws)}',
                variable,
                new_value=variable.value.strip(" \t;\"'"),
            )


@check("build-resource-limits")
def build_limits(facts: Facts) -> Iterator[Seen]:
    jobs = need(_number(facts, "MAX_JOBS"), "MAX_JOBS is not set")
    memory = need(facts.system.memory_bytes, "MAX_JOBS is not set")
    threads = _number(facts, "NVCC_THREADS") or 1
    needed, have = jobs * threads * _GIB_A_THREAD, memory / 2**30
    if needed > have:
        yield seen(
            f"MAX_JOBS={jobs} with {threads} nvcc thread(s) may need {needed} GiB, "
            f"this machine has {have:.0f}",
            "variable MAX_JOBS",
            variable="MAX_JOBS",
            value=str(jobs),
        )


def _number(facts: Facts, name: str) -> int | None:
    variable = facts.variable(name)
    text = variable.value.strip() if variable else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
