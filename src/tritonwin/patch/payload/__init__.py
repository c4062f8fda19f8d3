"""Texts that rules put into a Triton: self-contained, standard library only, Python 3.9.

Each `.py` here but this one is appended to a module of Triton, without its docstring.
"""

from __future__ import annotations

import pkgutil
import re

_BLOCK = """

# {marker}: what follows was added by tritonwin and needs nothing of it;
# `tritonwin patch revert` takes it out again.
{code}"""


def text(name: str) -> str:
    """The content of a file of this folder."""
    data = pkgutil.get_data(__name__, name)
    assert data is not None  # noqa: S101 - it lies beside this module
    return data.decode("utf-8").replace("\r\n", "\n")


def appended(module: str, name: str, marker: str) -> str:
    """A module's text with the code of a payload at its end."""
    code = re.sub(r'\A""".*?"""\n', "", text(name), flags=re.DOTALL).strip("\n")
    return module.rstrip("\n") + "\n" + _BLOCK.format(marker=marker, code=code) + "\n"
