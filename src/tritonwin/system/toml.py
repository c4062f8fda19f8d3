"""TOML on every supported Python, and the TOML files that the package ships."""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from typing import Any, TypeVar

from tritonwin.system.codec import from_valid

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

_MOST_DOTS = 200  # in a line, outside of strings: keys with more parts are nobody's
_STRING = re.compile(r"""\"[^"]*"|'[^']*'""")


def loads(text: str) -> dict[str, Any]:
    """The tables of a text.

    Raises:
        ValueError: it is no TOML, or exceeds what Python's reader can do: that recurses into
            what is nested, and takes a time that grows with the square of a key's parts.
    """
    if any(_STRING.sub("", line).count(".") > _MOST_DOTS for line in text.split("\n")):
        raise ValueError("a line has too many dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_resource(package: str, file: str, cls: type[T]) -> T:
    """A shipped file as a record: `read_resource("tritonwin.support", "matrix.toml", Matrix)`.

    Nothing is checked here: `tests/unit/test_toml.py` reads every shipped file strictly.
    """
    return from_valid(cls, shipped(package, file))


def shipped(package: str, file: str) -> dict[str, Any]:
    """A shipped file as a table: `shipped("tritonwin.support", "matrix.toml")`."""
    return tomllib.loads(files(package).joinpath(file).read_text("utf-8"))
