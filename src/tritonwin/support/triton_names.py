"""The names of Triton that part its versions: from an error that names one to the possible pairs.

`triton_names.toml` is derived from the sources of every release of Triton since 2.1 and of torch
since 2.1 by `tools/refresh_triton_names.py`. Names that every release has are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal

from tritonwin.system import toml
from tritonwin.system.codec import from_valid

Kind = Literal["modules", "names", "attributes", "parameters", "dataclasses"]

_FORMS: tuple[tuple[Kind, re.Pattern[str], str], ...] = (
    ("names", re.compile(r"cannot import name '(\w+)' from '(triton[\w.]*)'"), r"\2:\1"),
    ("modules", re.compile(r"No module named '(triton\.[\w.]+)'"), r"\1"),
    ("names", re.compile(r"module '(triton[\w.]*)' has no attribute '(\w+)'"), r"\1:\2"),
    (
        "attributes",
        re.compile(r"(?:type object )?'(\w+)' (?:object )?has no attribute '(\w+)'"),
        r"\1.\2",
    ),
    (
        "parameters",
        re.compile(r"([\w.]{1,99})\(\) got an unexpected keyword argument '(\w+)'"),
        r"\1(\2)",
    ),
    ("dataclasses", re.compile(r"\bfields\((\w+)\)"), r"\1"),
)


@dataclass(frozen=True)
class Row:
    """One name.

    Attributes:
        triton: the series that have it, as ranges: "2.3-3.2,3.4".
        fails: series of torch to series of Triton with which torch stops at this name. For
            attributes and parameters an upper bound: torch uses the name somewhere.
    """

    triton: str
    fails: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NameTable:
    """`triton_names.toml`; `triton` and `torch` are the series that it knows."""

    triton: str
    torch: str
    modules: dict[str, Row]
    names: dict[str, Row]
    attributes: dict[str, Row]
    parameters: dict[str, Row]
    dataclasses: dict[str, Row]


@dataclass(frozen=True)
class Missing:
    """What an error says about the pair.

    Attributes:
        name: as in the table: `triton.compiler.compiler:triton_key`, `CompiledKernel.shared`.
        triton: the series of Triton that lack the name, oldest first.
        pairs: series of torch to the series of Triton with which it stops here; empty where no
            torch uses the name, so that another package asked for it.
    """

    name: str
    triton: tuple[str, ...]
    pairs: Mapping[str, tuple[str, ...]]


def missing_name(line: str) -> Missing | None:
    """What the line of an error says; None where it names nothing that parts the versions."""
    for kind, form, key in _FORMS:
        for hit in form.finditer(line):
            name = hit.expand(key)
            if row := _row(kind, name):
                return _missing(name, row)
    return None


def _row(kind: Kind, name: str) -> Row | None:
    """One row, found in the text: reading the whole table would take longer than a long log."""
    section = _text().partition(f"\n[{kind}]\n")[2].partition("\n[")[0]
    key = f'"{name}" = '
    line = next((line for line in section.split("\n") if line.startswith(key)), None)
    return from_valid(Row, toml.loads(line)[name]) if line else None


def _missing(name: str, row: Row) -> Missing:
    known = toml.loads(_text().partition("\n[")[0])
    has = set(series(row.triton, known["triton"]))
    return Missing(
        name=name,
        triton=tuple(s for s in series(known["triton"], known["triton"]) if s not in has),
        pairs={
            torch: series(triton, known["triton"])
            for ranges, triton in row.fails.items()
            for torch in series(ranges, known["torch"])
        },
    )


def series(ranges: str, known: str) -> tuple[str, ...]:
    """The series in "2.3-3.2,3.4", given the first and the last one that exist.

    Triton goes from 2.3 to 3.0, torch counts on: a range never names a series that does not exist.
    """
    found: list[str] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        found += [s for s in _all_series(known) if _key(first) <= _key(s) <= _key(last or first)]
    return tuple(found)


@cache
def _all_series(known: str) -> tuple[str, ...]:
    first, _, last = known.partition("-")
    (major, minor), (last_major, last_minor) = _key(first), _key(last)
    if major == last_major:
        return tuple(f"{major}.{n}" for n in range(minor, last_minor + 1))
    # the last Triton 2 is 2.3
    old = tuple(f"{major}.{n}" for n in range(minor, 4))
    return old + tuple(f"{last_major}.{n}" for n in range(last_minor + 1))


def _key(series: str) -> tuple[int, int]:
    major, minor = series.split(".")
    return int(major), int(minor)


@cache
def _text() -> str:
    return files("tritonwin.support").joinpath("triton_names.toml").read_text("utf-8")


@cache
def load() -> NameTable:
    """The table as shipped."""
    return toml.read_resource("tritonwin.support", "triton_names.toml", NameTable)
