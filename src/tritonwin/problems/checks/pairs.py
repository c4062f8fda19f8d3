"""torch: built for the GPU, unmixed, and of the series that the installed Triton serves."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from tritonwin.facts.model import Facts, Torch
from tritonwin.problems.check import Check, NotApplicable, finding, need_torch, need_triton
from tritonwin.problems.model import Evidence, Finding
from tritonwin.support import matrix
from tritonwin.support.pairing import served_series, wanted_series
from tritonwin.support.versions import fits, series


def cpu_only_torch(facts: Facts) -> Iterator[Finding]:
    torch = need_torch(facts)
    if torch.cuda or torch.hip or torch.xpu:
        return
    gpu = next(iter(facts.nvidia_gpus), None)
    if gpu is None:
        raise NotApplicable("no NVIDIA GPU was seen")
    yield finding(
        "cpu-only-torch",
        f"torch {torch.version} is built without CUDA",
        torch.source,
        also=(Evidence(text=f"{gpu.name} is in this machine", where=gpu.source),),
    )


def replaced_torch(facts: Facts) -> Iterator[Finding]:
    found = [d for d in facts.distributions if d.name == "torch"]
    same_folder = [d for d in found if d.site_packages == found[0].site_packages]
    if len(same_folder) > 1:
        versions = " and ".join(d.version for d in same_folder)
        yield finding(
            "update-replaced-torch",
            f"the records of torch {versions} lie side by side: one was put over the other",
            same_folder[0].location,
            certainty="likely",
        )


def _pairing(facts: Facts) -> tuple[Torch, str, str]:
    """torch, the series it wants and the series that is installed."""
    torch, triton = need_torch(facts), need_triton(facts)
    wanted = wanted_series(torch)
    have = series(triton.version) if triton.version else None
    if wanted is None or have is None:
        raise NotApplicable("the pairing of this torch and Triton is not known")
    return torch, wanted, have


def _pair_evidence(torch: Torch, wanted: str) -> Evidence:
    return Evidence(
        text=f"torch {torch.version} wants Triton {torch.wants_triton or wanted}",
        where=torch.wants_triton_source or "table of pairs",
    )


def no_triton_yet(facts: Facts) -> Iterator[Finding]:
    torch = need_torch(facts)
    wanted = wanted_series(torch)
    if wanted is None:
        raise NotApplicable(f"what torch {torch.version} wants is not known")
    newest = matrix.load().newest_release()
    have = series(facts.triton.version) if facts.triton and facts.triton.version else None
    if Version(wanted) > Version(newest.series) and have != wanted:
        yield finding(
            "no-triton-for-torch-yet",
            f"the newest triton-windows is {newest.newest} (state of {matrix.load().data_date})",
            "table of releases",
            also=(_pair_evidence(torch, wanted),),
        )


def torch_too_old(facts: Facts) -> Iterator[Finding]:
    torch, triton = need_torch(facts), need_triton(facts)
    if fits(torch.version, "<2.4") and triton.version and fits(triton.version, ">=3.0"):
        yield finding(
            "torch-too-old-for-triton",
            f"torch {torch.version} is installed beside Triton {triton.version}; "
            "2.4 is the first torch that works with a triton-windows",
            torch.source,
        )


def triton_too_old(facts: Facts) -> Iterator[Finding]:
    torch, wanted, have = _pairing(facts)
    triton = need_triton(facts)
    if have in served_series(torch, wanted) or Version(have) > Version(wanted):
        return
    turing = any(g.compute_capability == "7.5" for g in facts.gpus) and have == "3.2"
    yield finding(
        "triton-too-old",
        f"Triton {triton.version} is installed",
        triton.source,
        # Triton 3.2 is the last one for Turing cards; beside a newer torch it works in part
        severity="warning" if turing else None,
        certainty="likely" if turing else "certain",
        also=(_pair_evidence(torch, wanted),),
    )


def triton_too_new(facts: Facts) -> Iterator[Finding]:
    torch, wanted, have = _pairing(facts)
    triton = need_triton(facts)
    if have in served_series(torch, wanted) or Version(have) < Version(wanted):
        return
    if fits(torch.version, "<2.4"):
        return  # torch-too-old-for-triton says it better
    yield finding(
        "triton-too-new-for-torch",
        f"Triton {triton.version} is installed",
        triton.source,
        also=(_pair_evidence(torch, wanted),),
    )


CHECKS = (
    Check(
        id="update-replaced-torch",
        title="one torch is recorded, and it is the one on disk",
        run=replaced_torch,
        windows_only=False,
    ),
    Check(
        id="cpu-only-torch",
        title="torch is built for the GPU",
        run=cpu_only_torch,
        windows_only=False,
    ),
    Check(
        id="no-triton-for-torch-yet",
        title="a triton-windows exists for this torch",
        run=no_triton_yet,
    ),
    Check(
        id="torch-too-old-for-triton",
        title="torch is new enough for Triton",
        run=torch_too_old,
        windows_only=False,
    ),
    Check(
        id="triton-too-old",
        title="Triton is new enough for torch",
        run=triton_too_old,
        windows_only=False,
    ),
    Check(
        id="triton-too-new-for-torch",
        title="Triton is not too new for torch",
        run=triton_too_new,
        windows_only=False,
    ),
)
