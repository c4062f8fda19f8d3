"""Values for the catalogue's placeholders that follow from the facts, whatever the problem is."""

from __future__ import annotations

from tritonwin.facts.model import Facts
from tritonwin.support import matrix
from tritonwin.support.indexes import torch_index, torch_tag
from tritonwin.support.packages import FORK
from tritonwin.support.pairing import released, served_series, wanted_series

UPSTREAM = "triton"


def context(facts: Facts) -> dict[str, str]:
    """Name what the facts know: versions, the GPU, what to ask pip for."""
    target, torch, triton = facts.target, facts.torch, facts.triton
    gpu = next(iter(facts.nvidia_gpus), None)
    driver = facts.nvidia_driver
    values = {
        "python_version": target.version if target else None,
        "python_folder": (target.base_prefix or target.prefix) if target else None,
        "torch_version": torch.version if torch else None,
        "triton_version": triton.version if triton else None,
        "wanted_triton": wanted_series(torch) if torch else None,
        "triton_spec": triton_spec(facts),
        "gpu": gpu.name if gpu else None,
        "compute_capability": gpu.compute_capability if gpu else None,
        "driver_version": driver.version if driver else None,
        "cuda_version": torch.cuda if torch else None,
        "torch_index": torch_index(),
        "cuda_tag": torch_tag(
            driver.cuda if driver else None, gpu.compute_capability if gpu else None
        ),
    }
    return {name: value for name, value in values.items() if value}


def triton_spec(facts: Facts) -> str | None:
    """What to ask pip for: `triton-windows<3.6` for the torch that is there.

    None when no triton-windows serves that torch yet. Elsewhere than on Windows upstream's
    releases are meant, which exist for every torch.
    """
    if not facts.windows:
        wanted = facts.torch.wants_triton if facts.torch else None
        return UPSTREAM + (wanted or "")
    newest = matrix.load().newest_release().series
    wanted = wanted_series(facts.torch) if facts.torch else None
    if facts.torch is None or wanted is None:
        return f"{FORK}<{_after(newest)}"
    series = served_series(facts.torch, wanted)[-1]
    return f"{FORK}<{_after(series)}" if released(series) else None


def _after(series: str) -> str:
    major, minor = series.split(".")
    return f"{major}.{int(minor) + 1}"
