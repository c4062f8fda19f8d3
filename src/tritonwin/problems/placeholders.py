"""The `{placeholders}` of the catalogue's texts: what each means, and its neutral word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Placeholder(NamedTuple):
    meaning: str
    neutral: str  # stands in its sentences where no finding supplies a value
    command: str | None = None  # the same for a command; None: there is no command


PLACEHOLDERS: Mapping[str, Placeholder] = {
    "python": Placeholder("what starts the user's interpreter, quoted", "python", "python"),
    "python_version": Placeholder("3.12.9", "version not known"),
    "python_folder": Placeholder("the folder that holds python.exe", "the folder of python.exe"),
    "torch_version": Placeholder("2.9.1+cu128", "as installed"),
    "triton_version": Placeholder("3.5.1.post24", "as installed"),
    "wanted_triton": Placeholder("the Triton that torch asks for: 3.5", "of another version"),
    "triton_spec": Placeholder(
        "what pip is to install: triton-windows<3.6", "see the table in its README"
    ),
    "distribution": Placeholder("an installed distribution: triton", "the other Triton", "triton"),
    "package": Placeholder("the package concerned: sageattention", "the package"),
    "package_version": Placeholder("its version: 2.2.0+cu128torch2.9.0", "(not known)"),
    "gpu": Placeholder("NVIDIA GeForce RTX 4090", "This GPU"),
    "compute_capability": Placeholder("8.9", "(not known)"),
    "driver_version": Placeholder("581.57", "version not known"),
    "cuda_version": Placeholder("12.8", "as installed"),
    "torch_index": Placeholder("address of torch's own indexes", "PyTorch's index"),
    "cuda_tag": Placeholder("torch's index for this driver and GPU: cu128", "(not known)"),
    "variable": Placeholder("an environment variable: CC", "The variable"),
    "value": Placeholder("the value that it has", "(not known)"),
    "new_value": Placeholder("the value that it should have", "the corrected value"),
    "path": Placeholder("the file or folder concerned", "a file or folder of that name"),
    "cache": Placeholder("a cache folder", "the cache folder"),
    "dll": Placeholder("msvcp140.dll", "A DLL"),
    "dll_version": Placeholder("14.29.30133.0", "(not known)"),
    "toolset": Placeholder("a version of MSVC: 14.44.35207", "as installed"),
    "sdk": Placeholder("a version of the Windows SDK: 10.0.22621.0", "as installed"),
}

_NAME = re.compile(r"\{([a-z_]+)\}")

# What would end the quotes around a value, or be expanded inside them, in cmd, PowerShell (which
# takes typographic quotes for quotes) or a Python literal. A log may name anything.
_BREAKS_QUOTES = re.compile(r"[\"'`$%\x00-\x1f\u2018-\u201f]|\\\Z")


def names(text: str) -> Iterator[str]:
    """The placeholders of a text, in order.

    Raises:
        ValueError: a name that the table lacks, or a brace that belongs to no placeholder.
    """
    if "{" in _NAME.sub("", text) or "}" in _NAME.sub("", text):
        raise ValueError(f"a brace that belongs to no placeholder: {text!r}")
    for match in _NAME.finditer(text):
        if match[1] not in PLACEHOLDERS:
            raise ValueError(f"unknown placeholder {match[0]}")
        yield match[1]


def unquoted(command: str) -> tuple[str, ...]:
    """The placeholders, `{python}` aside, that stand outside double quotes in a command."""
    outside = "".join(command.split('"')[::2])
    return tuple(name for name in names(outside) if name != "python")


def sentence(text: str, values: Mapping[str, str]) -> str:
    """Fill a sentence. A value that is missing or empty becomes its neutral word."""
    return _NAME.sub(lambda m: values.get(m[1]) or PLACEHOLDERS[m[1]].neutral, text)


def argument(text: str, values: Mapping[str, str]) -> str | None:
    """Fill an argument of an action; None where a value is missing."""
    if not all(values.get(name) for name in names(text)):
        return None
    return sentence(text, values)


def commands(texts: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Fill commands that can be copied, all or none: half a sequence may do harm.

    None are given where a value is missing or is not safe between quotes. `python` alone is taken
    as it is: the caller has quoted it for the shell.
    """
    filled = {}
    for name in dict.fromkeys(name for text in texts for name in names(text)):
        value = values.get(name) or PLACEHOLDERS[name].command
        if value is None or (name != "python" and _BREAKS_QUOTES.search(value)):
            return ()
        filled[name] = value
    return tuple(sentence(text, filled) for text in texts)
