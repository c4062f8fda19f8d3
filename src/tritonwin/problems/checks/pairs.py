"""Packages that must fit one torch: Triton, and extensions compiled for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from packaging.version import Version

from tritonwin.facts.records import Facts, Torch, Triton
from tritonwin.problems.check import (
    Check,
    Seen,
    check,
    need,
    need_distribution,
    need_torch,
    need_triton,
    seen,
)
from tritonwin.problems.conditions import examined, value_of
from tritonwin.problems.records import Evidence
from tritonwin.support import matrix, wheels
from tritonwin.support.matrix import served_series, wanted_series
from tritonwin.support.packages import FORK
from tritonwin.support.versions import fits, older, series
from tritonwin.support.wheels import read_local


@check("cpu-only-torch")
def cpu_only_torch(facts: Facts) -> Iterator[Seen]:
    torch = need_torch(facts)
    if torch.cuda or torch.hip or torch.xpu:
        return
    if not examined(facts) and value_of("torch_build", facts) != "cpu":
        return  # a log may leave out what stands behind the plus
    gpu = need(next(iter(facts.nvidia_gpus), None), "no NVIDIA GPU was seen")
    yield seen(
        f"torch {torch.version} is built without CUDA",
        torch.source,
        also=(Evidence(text=f"{gpu.name} is in this machine", where=gpu.source),),
    )


@check("intel-wrong-torch")
def intel_wrong_torch(facts: Facts) -> Iterator[Seen]:
    torch, arc = need_torch(facts), need(facts.intel_arc, "no Arc of Intel is in charge")
    if torch.xpu or "+xpu" in torch.version:
        return
    yield seen(
        f"torch {torch.version} is built for {'CUDA' if torch.cuda else 'the processor alone'}",
        torch.source,
        # the Arc of a notebook may be there for its screen
        certainty="certain" if torch.cuda else "likely",
        severity="error" if torch.cuda else "warning",
        also=(Evidence(text=f"{arc.name} is in this machine", where=arc.source),),
    )


@check("intel-wrong-triton")
def intel_wrong_triton(facts: Facts) -> Iterator[Seen]:
    torch, fork = need_torch(facts), need_distribution(facts, FORK)
    if torch.xpu or "+xpu" in torch.version:
        torch_is = Evidence(text=f"torch {torch.version} is for Intel GPUs", where=torch.source)
        yield seen(f"{fork.name} {fork.version} is installed", fork.location, also=(torch_is,))


@check("update-replaced-torch")
def replaced_torch(facts: Facts) -> Iterator[Seen]:
    found = [d for d in facts.distributions if d.name == "torch"]
    same_folder = [d for d in found if d.site_packages == found[0].site_packages]
    if len(same_folder) > 1:
        versions = " and ".join(d.version for d in same_folder)
        yield seen(
            f"the records of torch {versions} lie side by side: one was put over the other",
            same_folder[0].location,
        )


def _pairing(facts: Facts) -> tuple[Torch, Triton, str, str]:
    """torch and Triton, the series that torch wants and the series that is installed."""
    torch, triton = need_torch(facts), need_triton(facts)
    paired = value_of("amd", facts) != "zluda" or facts.nvidia_gpus
    need(paired, "ZLUDA has a Triton of its own, which is not paired with torch so")
    unknown = "the pairing of this torch and Triton is not known"
    have = need(series(triton.version or ""), unknown)
    return torch, triton, need(wanted_series(torch), unknown), have


def _pair_evidence(torch: Torch, wanted: str) -> Evidence:
    return Evidence(
        text=f"torch {torch.version} wants Triton {torch.wants_triton or wanted}",
        where=torch.wants_triton_source or "table of pairs",
    )


@check("no-triton-for-torch-yet")
def no_triton_yet(facts: Facts) -> Iterator[Seen]:
    torch = need_torch(facts)
    wanted = need(wanted_series(torch), f"what torch {torch.version} wants is not known")
    newest = matrix.load().newest_release()
    have = series(facts.triton.version) if facts.triton and facts.triton.version else None
    if Version(wanted) > Version(newest.series) and have != wanted:
        yield seen(
            f"the newest triton-windows is {newest.newest} (state of {matrix.load().data_date})",
            "table of releases",
            also=(_pair_evidence(torch, wanted),),
        )


def _unpaired(facts: Facts, *, older: bool) -> Iterator[Seen]:
    torch, triton, wanted, have = _pairing(facts)
    if have in served_series(torch, wanted) or (Version(have) < Version(wanted)) is not older:
        return
    if not older and fits(torch.version, "<2.4"):
        return  # torch-too-old-for-triton says it better
    # Triton 3.2 is the last one for Turing cards; beside a newer torch it works in part
    turing = older and have == "3.2" and any(g.compute_capability == "7.5" for g in facts.gpus)
    yield seen(
        f"Triton {triton.version} is installed",
        triton.source,
        severity="warning" if turing else None,
        certainty="likely" if turing else "certain",
        also=(_pair_evidence(torch, wanted),),
    )


triton_too_old, triton_too_new = (
    Check("triton-too-old", partial(_unpaired, older=True)),
    Check("triton-too-new-for-torch", partial(_unpaired, older=False)),
)


_FLASH = ("flash-attn", "flash-attn-3")
# Others with a compiled part, whose wheels say for which torch they were built.
_EXTENSIONS = ("causal-conv1d", "mamba-ssm", "nunchaku", "pytorch3d")
_SAGE = ("sageattention", "sageattn3", "spas-sage-attn")


def _wheel_mismatch(facts: Facts, *, names: tuple[str, ...]) -> Iterator[Seen]:
    dists = [d for n in names if (d := facts.distribution(n)) is not None]
    need(dists, f"{names[0]} is not installed")
    torch = need_torch(facts)
    for dist in dists:
        _, _, local = dist.version.partition("+")
        reason = wheels.torch_misfit(read_local(local), torch.version, torch.cuda)
        if reason:
            yield seen(
                f"{dist.name} {dist.version} is built for another torch: it {reason}",
                dist,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
            )


flash_mismatch, sage_mismatch, extension_mismatch = (
    Check(problem, partial(_wheel_mismatch, names=names))
    for problem, names in (
        ("flash-wheel-torch-mismatch", _FLASH),
        ("sage-wheel-torch-mismatch", _SAGE),
        ("extension-torch-mismatch", _EXTENSIONS),
    )
)


@check("flash-wheel-needs-cuda-dlls")
def flash_needs_cuda_dlls(facts: Facts) -> Iterator[Seen]:
    flash = [e for e in facts.extensions if e.package in _FLASH]
    need(flash, "flash-attn is not installed")
    if need_torch(facts).cuda is None:
        return  # cpu-only-torch is the cause then
    for extension in flash:
        for name in extension.unresolved:
            if re.match(r"(cudart|cublas|cudnn|nvrtc|cufft|cusparse)", name.lower()):
                yield seen(
                    f"{extension.path} needs {name}, which torch does not bring along",
                    extension.path,
                    dll=name,
                )


@check("sage-kernels-not-loaded")
def sage_kernels(facts: Facts) -> Iterator[Seen]:
    sage = need_distribution(facts, "sageattention")
    # version 1 is pure Triton; from 2 on compiled kernels belong to it
    if not older(sage.version, "2") and not facts.extensions_of("sageattention"):
        text = f"sageattention {sage.version} is installed without its compiled kernels"
        yield seen(text, sage)


@check("xformers-torch-mismatch")
def xformers_mismatch(facts: Facts) -> Iterator[Seen]:
    xformers = need_distribution(facts, "xformers")
    torch = need_torch(facts)
    base = torch.version.partition("+")[0]
    for line in xformers.requires:
        pinned = re.match(r"torch\s*\(?==\s*([\d.]+)", line)
        if pinned and pinned[1] != base:
            yield seen(
                f"xformers {xformers.version} is built for torch {pinned[1]}",
                xformers,
                also=(Evidence(text=f"torch {torch.version}", where=torch.source),),
            )
