"""CUDA toolkits: the one that overrides the bundled tools, and the one for builds."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import CudaToolkit, Facts
from tritonwin.problems.check import (
    Check,
    NotApplicable,
    finding,
    need_torch,
    need_triton,
    nvidia_capability,
)
from tritonwin.problems.model import Finding
from tritonwin.support import matrix
from tritonwin.support.versions import fits, parse

_VARIABLES = ("CUDA_PATH", "CUDA_HOME")
# What Triton takes from a toolkit; without all three it goes on to its bundled tools.
_JIT_PARTS = ("ptxas", "header", "library")


def _named(facts: Facts) -> list[tuple[str, CudaToolkit]]:
    found = [
        (name, toolkit)
        for name in _VARIABLES
        for toolkit in facts.cuda_toolkits
        if name in toolkit.source.split()
    ]
    if not found:
        raise NotApplicable("neither CUDA_PATH nor CUDA_HOME is set")
    return found


def cuda_path_wrong(facts: Facts) -> Iterator[Finding]:
    for name, toolkit in _named(facts):
        lacking = [p for p in _JIT_PARTS if getattr(toolkit, p) is None]
        if not toolkit.exists:
            reason = "the folder does not exist"
        elif toolkit.version and fits(toolkit.version, "<12"):
            reason = f"CUDA {toolkit.version}; Triton needs 12 or later"
        elif lacking:
            words = {"ptxas": "ptxas", "header": "cuda.h", "library": "cuda.lib"}
            reason = f"incomplete: {', '.join(words[p] for p in lacking)} not there"
        else:
            continue
        yield finding(
            "cuda-path-wrong",
            f"{name} is {toolkit.path}: {reason}",
            f"variable {name}",
            variable=name,
            value=toolkit.path,
            cuda_version=toolkit.version,
        )


def ptxas_older(facts: Facts) -> Iterator[Finding]:
    triton = need_triton(facts)
    bundled = parse(triton.ptxas_version or "")
    for name, toolkit in _named(facts):
        version = parse(toolkit.version or "")
        if toolkit.ptxas is None or version is None or bundled is None or version.major < 12:
            continue
        if version >= bundled:
            continue
        yield finding(
            "ptxas-older-than-ptx",
            f"{name} puts ptxas {version} before the bundled {bundled} of Triton {triton.version}",
            toolkit.ptxas,
            certainty="certain" if _gpu_needs(facts, str(version)) else "possible",
            severity="error" if _gpu_needs(facts, str(version)) else "warning",
            variable=name,
            value=toolkit.path,
            cuda_version=toolkit.version,
        )


def _gpu_needs(facts: Facts, cuda: str) -> bool:
    """Whether the GPU's generation needs a newer CUDA than this."""
    try:
        generation = matrix.load().generation(nvidia_capability(facts))
    except NotApplicable:
        return False
    return bool(generation and generation.cuda and not fits(cuda, generation.cuda))


def _build_toolkits(facts: Facts) -> tuple[str, list[CudaToolkit]]:
    torch = need_torch(facts)
    if torch.cuda is None:
        raise NotApplicable("torch is built without CUDA")
    major = torch.cuda.split(".")[0]
    fitting = [
        t for t in facts.cuda_toolkits if t.nvcc and t.version and t.version.split(".")[0] == major
    ]
    return torch.cuda, fitting


def toolkit_for_build(facts: Facts) -> Iterator[Finding]:
    wanted, fitting = _build_toolkits(facts)
    if not fitting:
        others = [t for t in facts.cuda_toolkits if t.nvcc]
        have = f"only CUDA {others[0].version}" if others else "no toolkit with nvcc"
        yield finding(
            "cuda-toolkit-for-build",
            f"{have} was found; building an extension for this torch needs CUDA {wanted}",
            others[0].path if others else "CUDA_PATH, Program Files, pip, conda",
            severity="info",
        )


def host_compiler(facts: Facts) -> Iterator[Finding]:
    _, fitting = _build_toolkits(facts)
    toolsets = [t for t in facts.msvc if t.compiler]
    if not fitting or not toolsets:
        raise NotApplicable("no pair of CUDA toolkit and Visual C++ to compare")
    for toolkit in fitting:
        rule = matrix.load().nvcc_host(toolkit.version or "")
        if rule is None or any(fits(t.version, rule.msvc) for t in toolsets):
            return
    toolkit, toolset = fitting[0], toolsets[0]
    rule = matrix.load().nvcc_host(toolkit.version or "")
    yield finding(
        "nvcc-host-compiler-mismatch",
        f"nvcc {toolkit.version} accepts Visual C++ {rule.msvc if rule else ''}, installed is "
        f"{', '.join(t.version for t in toolsets)}",
        toolkit.nvcc or toolkit.path,
        severity="info",
        toolset=toolset.version,
        cuda_version=toolkit.version,
    )


CHECKS = (
    Check(
        id="cuda-path-wrong",
        title="CUDA_PATH and CUDA_HOME name a usable toolkit",
        run=cuda_path_wrong,
        windows_only=False,
    ),
    Check(
        id="ptxas-older-than-ptx",
        title="the ptxas that comes first is new enough",
        run=ptxas_older,
    ),
    Check(
        id="cuda-toolkit-for-build",
        title="a CUDA toolkit fits torch, for builds from source",
        run=toolkit_for_build,
        windows_only=False,
    ),
    Check(
        id="nvcc-host-compiler-mismatch",
        title="nvcc accepts the installed Visual C++",
        run=host_compiler,
    ),
)
