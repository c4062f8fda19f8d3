"""The catalogue of problems: one text per id, for what facts show and for what logs say."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tritonwin.problems.catalogue.reader import Catalogue, UnknownProblemError, read
from tritonwin.problems.catalogue.table import CatalogueError

__all__ = ["Catalogue", "CatalogueError", "UnknownProblemError", "load"]


@cache
def load() -> Catalogue:
    """The catalogue that comes with the package.

    Raises:
        CatalogueError: a file of the package is damaged.
    """
    found = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return read({f.name: f.read_text(encoding="utf-8") for f in found if f.name.endswith(".toml")})
