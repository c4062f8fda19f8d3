"""The proof of its kernels that an installed byte-spectral registers as an entry point."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points

from probe_runner import NotApplicableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

GROUP = "tritonwin.rungs"  # entry points in it are functions like `prove` below


def registered(name: str) -> EntryPoint | None:
    if sys.version_info >= (3, 10):  # noqa: UP036 - a target's Python may be 3.8
        found = entry_points(group=GROUP)
    else:
        found = entry_points().get(GROUP, ())
    return next((entry for entry in found if entry.name == name), None)


def prove(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    entry = registered("spectral")
    if entry is None:
        raise NotApplicableError("byte-spectral is not installed")
    detail, figures = entry.load()(arguments)
    from compare import cubins  # imports torch

    kernels = cubins(arguments["scratch"])
    if not kernels:
        raise AssertionError("the encoder compiled no Triton kernel")
    return detail, {**figures, "Triton kernels": kernels}
