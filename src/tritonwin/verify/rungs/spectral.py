"""The proof of its kernels that an installed byte-spectral registers as an entry point."""

from __future__ import annotations

from importlib.metadata import distributions
from typing import Any

from probe_runner import NotApplicableError

GROUP = "tritonwin.rungs"  # entry points in it are functions like `prove` below


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    entries = (e for d in distributions() for e in d.entry_points if e.group == GROUP)
    entry = next((each for each in entries if each.name == "spectral"), None)
    if entry is None:
        raise NotApplicableError("byte-spectral is not installed")
    detail, figures = entry.load()(arguments)
    from compare import cubins  # imports torch

    kernels = cubins(arguments["scratch"])
    if not kernels:
        raise AssertionError("the encoder compiled no Triton kernel")
    return detail, {**figures, "Triton kernels": kernels}
