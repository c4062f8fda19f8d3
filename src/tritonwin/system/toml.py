"""TOML on every supported Python, and the TOML files that the package ships."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import Any, TypeVar

from tritonwin.system.codec import from_valid

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

loads = tomllib.loads


def read_resource(package: str, file: str, cls: type[T]) -> T:
    """A shipped file as a record: `read_resource("tritonwin.support", "matrix.toml", Matrix)`.

    Nothing is checked here: `tests/unit/test_toml.py` reads every shipped file strictly.
    """
    return from_valid(cls, shipped(package, file))


def shipped(package: str, file: str) -> dict[str, Any]:
    """A shipped file as a table: `shipped("tritonwin.support", "matrix.toml")`."""
    table: dict[str, Any] = loads(files(package).joinpath(file).read_text("utf-8"))
    return table
