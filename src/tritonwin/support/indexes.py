"""Addresses of package indexes, and which of torch's fits a driver and a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

from tritonwin.support.versions import fits, parse
from tritonwin.system.toml import shipped


@cache
def _data() -> dict[str, Any]:
    return shipped("tritonwin.support", "indexes.toml")


def torch_index() -> str:
    """Address below which torch's indexes lie, one a CUDA tag."""
    address: str = _data()["torch"]
    return address


def torch_tags(driver_cuda: str | None, capability: str | None) -> tuple[str, ...]:
    """The tags ("cu130") that this driver runs and that have kernels for this GPU, best first.

    Args:
        driver_cuda: the highest CUDA of the driver, "13.0"; None when it is not known.
        capability: compute capability of the GPU, "8.9"; None when it is not known.
    """
    driver = parse(driver_cuda or "")
    if driver is None:
        return ()
    return tuple(
        row["tag"]
        for row in _data()["torch_tag"]
        # within one major version CUDA is compatible both ways
        if driver.major >= int(row["cuda"].split(".")[0])
        and (capability is None or fits(capability, row["capability"]))
    )


def torch_tag(driver_cuda: str | None, capability: str | None) -> str | None:
    """The best of `torch_tags`, None where none is known to fit."""
    return next(iter(torch_tags(driver_cuda, capability)), None)


def torch_gpus(cuda: str) -> str | None:
    """The compute capabilities, as a specifier, that torch's builds for this CUDA have kernels for.

    None where the table does not know these builds.
    """
    return next((r["capability"] for r in _data()["torch_tag"] if r["cuda"] == cuda), None)
