"""Attention packages: flash-attn, sageattention and xFormers, compiled for one torch each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.model import Facts
from tritonwin.problems.check import Check, NotApplicable, finding, need_distribution, need_torch
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support import torch_abi
from tritonwin.support.versions import older
from tritonwin.support.wheel_names import read_local

_FLASH = ("flash-attn", "flash-attn-3")
_SAGE = ("sageattention", "sageattn3", "spas-sage-attn")


def _wheel_mismatch(facts: Facts, problem: str, names: tuple[str, ...]) -> Iterator[Finding]:
    dists = [d for n in names if (d := facts.distribution(n)) is not None]
    if not dists:
        raise NotApplicable(f"{names[0]} is not installed")
    torch = need_torch(facts)
    for dist in dists:
        _, _, local = dist.version.partition("+")
        reason = torch_abi.misfit(read_local(local), torch.version, torch.cuda)
        if reason:
            yield finding(
                problem,
                f"{dist.name} {dist.version} is built for another torch: it {reason}",
                dist.location,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
                package=dist.name,
                package_version=dist.version,
            )


def flash_mismatch(facts: Facts) -> Iterator[Finding]:
    yield from _wheel_mismatch(facts, "flash-wheel-torch-mismatch", _FLASH)


def flash_needs_cuda_dlls(facts: Facts) -> Iterator[Finding]:
    flash = [e for e in facts.extensions if e.package in _FLASH]
    if not flash:
        raise NotApplicable("flash-attn is not installed")
    if need_torch(facts).cuda is None:
        return  # cpu-only-torch is the cause then
    for extension in flash:
        for name in extension.unresolved:
            if re.match(r"(cudart|cublas|cudnn|nvrtc|cufft|cusparse)", name.lower()):
                yield finding(
                    "flash-wheel-needs-cuda-dlls",
                    f"{extension.path} needs {name}, which torch does not bring along",
                    extension.path,
                    dll=name,
                )


def sage_mismatch(facts: Facts) -> Iterator[Finding]:
    yield from _wheel_mismatch(facts, "sage-wheel-torch-mismatch", _SAGE)


def sage_kernels(facts: Facts) -> Iterator[Finding]:
    sage = need_distribution(facts, "sageattention")
    # version 1 is pure Triton; from 2 on compiled kernels belong to it
    if not older(sage.version, "2") and not facts.extensions_of("sageattention"):
        yield finding(
            "sage-kernels-not-loaded",
            f"sageattention {sage.version} is installed without its compiled kernels",
            sage.location,
            package="sageattention",
            package_version=sage.version,
        )


def xformers_mismatch(facts: Facts) -> Iterator[Finding]:
    xformers = need_distribution(facts, "xformers")
    torch = need_torch(facts)
    base = torch.version.partition("+")[0]
    for line in xformers.requires:
        pinned = re.match(r"torch\s*\(?==\s*([\d.]+)", line)
        if pinned and pinned[1] != base:
            yield finding(
                "xformers-torch-mismatch",
                f"xformers {xformers.version} is built for torch {pinned[1]}",
                xformers.location,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
                package="xformers",
                package_version=xformers.version,
            )


CHECKS = (
    Check(
        id="flash-wheel-torch-mismatch",
        title="flash-attn is built for this torch",
        run=flash_mismatch,
        windows_only=False,
    ),
    Check(
        id="flash-wheel-needs-cuda-dlls",
        title="flash-attn finds the CUDA libraries that it needs",
        run=flash_needs_cuda_dlls,
    ),
    Check(
        id="sage-wheel-torch-mismatch",
        title="sageattention is built for this torch",
        run=sage_mismatch,
        windows_only=False,
    ),
    Check(
        id="sage-kernels-not-loaded",
        title="sageattention has its compiled kernels",
        run=sage_kernels,
    ),
    Check(
        id="xformers-torch-mismatch",
        title="xformers is built for this torch",
        run=xformers_mismatch,
        windows_only=False,
    ),
)
