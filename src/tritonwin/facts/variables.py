"""Environment variables that matter, with the blanks, quotes and `;` that spoil them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from tritonwin.facts.records import Flaw, Scope, Variable
from tritonwin.system.host import Host
from tritonwin.system.toml import read_resource

Kind = Literal["value", "path", "list", "options"]

# Where Windows keeps what new processes will see, which may differ from what this one sees.
STORED: dict[Scope, str] = {
    "user": r"HKCU\Environment",
    "machine": r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """An entry of `variables.toml`."""

    name: str  # may hold "*"
    kind: Kind
    purpose: str


@dataclass(frozen=True, kw_only=True)
class VariableTable:
    """The content of `variables.toml`."""

    variable: tuple[Known, ...]


@cache
def known_variables() -> tuple[Known, ...]:
    """The variables that this product looks at."""
    return read_resource("tritonwin.facts", "variables.toml", VariableTable).variable


def known(name: str) -> Known | None:
    """The entry that a name falls under, whatever its case."""
    wanted = name.upper()
    return next((k for k in known_variables() if fnmatchcase(wanted, k.name.upper())), None)


def read_variables(host: Host) -> tuple[Variable, ...]:
    """The variables that matter, as this process sees them and as the registry holds them.

    Registry values are given as stored: `%NAME%` in them is not replaced.
    """
    scopes: list[tuple[Scope, dict[str, str]]] = [("process", dict(host.env.data))]
    for scope, key in STORED.items():
        stored = host.registry.values(key)
        scopes.append((scope, {n: v for n, v in stored.items() if isinstance(v, str)}))
    return tuple(
        Variable(
            name=name,
            value=values[name],
            scope=scope,
            flaws=tuple(flaws(values[name], entry.kind)),
        )
        for scope, values in scopes
        for name in sorted(values)
        if (entry := known(name)) is not None
    )


def flaws(value: str, kind: Kind) -> Iterator[Flaw]:
    """The flaws in the form of a value of that kind.

    `set X=1 && command` in a batch file or prompt stores "1 ", with the blank.
    """
    if kind == "options":
        return
    entries = value.split(";") if kind == "list" else [value]
    if any(entry != entry.rstrip() for entry in entries):
        yield "trailing-blank"
    if any(entry != entry.lstrip() for entry in entries):
        yield "leading-blank"
    if '"' in value or (len(value) > 1 and value[0] == value[-1] == "'"):
        yield "quotes"
    if kind != "list" and ";" in value:
        yield "semicolon"
