"""TOML on every Python that runs us, and the tables that lie beside our modules."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

loads = tomllib.loads
TOMLDecodeError = tomllib.TOMLDecodeError


def shipped(package: str, file: str) -> dict[str, Any]:
    """A table of ours: `shipped("tritonwin.support", "matrix.toml")`."""
    table: dict[str, Any] = loads(files(package).joinpath(file).read_text("utf-8"))
    return table
