"""Addresses of package indexes, and which of torch's fits a driver and a GPU."""

from __future__ import annotations

import sys
from functools import cache
from importlib.resources import files
from typing import Any

from tritonwin.support.matrix import older, parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files("tritonwin.support").joinpath("indexes.toml").read_text("utf-8"))


def torch_index() -> str:
    """Address below which torch's indexes lie, one a CUDA tag."""
    address: str = _data()["torch"]
    return address


def torch_tag(driver_cuda: str | None, capability: str | None) -> str | None:
    """The newest tag ("cu130") that this driver runs and that has kernels for this GPU.

    Args:
        driver_cuda: the highest CUDA of the driver, "13.0"; None when it is not known.
        capability: compute capability of the GPU, "8.9"; None when it is not known.
    """
    driver = parse(driver_cuda or "")
    if driver is None:
        return None
    for row in _data()["torch_tag"]:
        major = int(row["cuda"].split(".")[0])
        if driver.major >= major and not older(capability, row["capability"]):
            tag: str = row["tag"]
            return tag
    return None
