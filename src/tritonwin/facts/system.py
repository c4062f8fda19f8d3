"""The operating system, its settings, and the environment variables that matter."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from typing import Literal

from tritonwin.facts.records import Flaw, Scope, System, Variable
from tritonwin.system import winapi
from tritonwin.system.host import Host
from tritonwin.system.toml import read_resource

# Where Windows keeps what new processes will see, which may differ from what this one sees.
STORED: dict[Scope, str] = {
    "user": r"HKCU\Environment",
    "machine": r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
}
_CODE_PAGE = r"HKLM\SYSTEM\CurrentControlSet\Control\Nls\CodePage"
FILE_SYSTEM = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
_APP_MODEL = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\AppModelUnlock"
_CODE_INTEGRITY = r"HKLM\SYSTEM\CurrentControlSet\Control\CI\Policy"

# "Smart App Control overview" of Microsoft Learn.
_APP_CONTROL: dict[object, Literal["off", "on", "evaluation"]] = {
    0: "off",
    1: "on",
    2: "evaluation",
}


def read_system(host: Host) -> System:
    """Read the system's facts; `sources` has the places of those that can be changed."""
    windows, asked = host.windows, host.registry.value
    code_page = str(asked(_CODE_PAGE, "ACP"))
    app_control = asked(_CODE_INTEGRITY, "VerifiedAndReputablePolicyState")
    temp, temp_source = temp_folder(host)
    return System(
        os="windows" if windows else "linux" if sys.platform == "linux" else "other",
        version=winapi.windows_version() or "" if windows else platform.release(),
        machine=_machine(host) if windows else platform.machine(),
        wine=winapi.wine_version(),
        ansi_code_page=int(code_page) if code_page.isdecimal() else None,
        # off where Windows holds no value
        long_paths=asked(FILE_SYSTEM, "LongPathsEnabled") == 1 if windows else None,
        developer_mode=asked(_APP_MODEL, "AllowDevelopmentWithoutDevLicense") == 1
        if windows
        else None,
        smart_app_control=_APP_CONTROL.get(app_control),
        admin=_admin(),
        cpu_count=os.cpu_count(),
        memory_bytes=_memory(),
        temp=temp,
        sources={
            "temp": temp_source,
            "long_paths": f"registry {FILE_SYSTEM}",
            "smart_app_control": f"registry {_CODE_INTEGRITY}",
        },
    )


def _machine(host: Host) -> str:
    # the registry first: a process that Windows emulates on ARM64 is told AMD64
    name = "PROCESSOR_ARCHITECTURE"
    value = host.registry.value(STORED["machine"], name)
    return str(value or host.env.get("PROCESSOR_ARCHITEW6432") or host.env.get(name) or "")


def _admin() -> bool | None:
    if sys.platform == "win32":
        return winapi.is_admin()
    return os.geteuid() == 0


def _memory() -> int | None:
    if sys.platform != "win32":
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    asked = winapi.memory()
    return asked.total if asked else None


def temp_folder(host: Host) -> tuple[str | None, str]:
    """The folder of temporary files and its source, in the order of Python's `tempfile`."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        value = host.env.get(name)
        if value:
            return value, f"variable {name}"
    return (None if host.windows else "/tmp"), "default"  # noqa: S108 - named, not used


Kind = Literal["value", "path", "list", "options"]


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
