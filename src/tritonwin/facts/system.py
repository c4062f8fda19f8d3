"""The operating system, its settings, and the environment variables that matter."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tritonwin.facts.records import Flaw, Scope, System, Variable
from tritonwin.system import winapi
from tritonwin.system.files import is_file, read_text
from tritonwin.system.host import Host
from tritonwin.system.toml import read_resource

# Where Windows keeps what new processes will see, which may differ from what this one sees.
STORED: dict[Scope, str] = {
    "user": r"HKCU\Environment",
    "machine": r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
}
_CORE = re.compile(r"\[\s*core\s*\]", re.IGNORECASE)
_LONGPATHS = re.compile(r"(?im)(?:^|\])\s*longpaths[ \t]*(?:=[ \t]*\"?(\w+)|$)")
_TRUE = ("true", "yes", "on", "1")


def git_long_paths(host: Host) -> tuple[bool | None, str]:
    """True if git makes files with long paths, and the place that says so.

    None where no git is found. Files in git's order, where the last one counts: system, user.
    """
    env, end = host.env, "Git/etc/gitconfig"
    general = env.folder("XDG_CONFIG_HOME") or host.home / ".config"
    files = (
        env.folder("ProgramData", "Git/config"),
        *(folder / end for folder in host.program_files()),
        env.folder("LOCALAPPDATA", f"Programs/{end}"),
        general / "git" / "config",
        host.home / ".gitconfig",
    )
    present = [path for path in files if path and is_file(path)]
    told = [(v, path) for path in present if (v := _longpaths(read_text(path) or ""))]
    if told:
        value, path = told[-1]
        return value.lower() in _TRUE, str(path)
    return (False, "git's default") if present or host.executables("git") else (None, "")


def _longpaths(text: str) -> str | None:
    """The last value of `longpaths` in section `core`; "true" for a name without a value."""
    sections = re.split(r"^\s*(?=\[)", text, flags=re.MULTILINE)
    found = (_LONGPATHS.findall(section) for section in sections if _CORE.match(section))
    return next((value or "true" for values in reversed([*found]) for value in values[::-1]), None)


_CODE_PAGE = r"HKLM\SYSTEM\CurrentControlSet\Control\Nls\CodePage"
FILE_SYSTEM = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
_APP_MODEL = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\AppModelUnlock"
_CODE_INTEGRITY = r"HKLM\SYSTEM\CurrentControlSet\Control\CI\Policy"

# "Smart App Control overview" of Microsoft Learn.
_APP_CONTROL_STATE = "VerifiedAndReputablePolicyState"
_APP_CONTROL: dict[object, Literal["off", "on", "evaluation"]] = {
    0: "off",
    1: "on",
    2: "evaluation",
}

# A fact and where it was read; an empty source where nothing was found.
Sourced = tuple[Any, str]


def read_system(host: Host) -> System:
    """Read the system's facts; each field's source is in `sources`."""
    readers: dict[str, Callable[[Host], Sourced]] = {
        "version": _version,
        "machine": _machine,
        "wine": lambda _: (winapi.wine_version(), "ntdll wine_get_version"),
        "ansi_code_page": _code_page,
        "long_paths": lambda h: _switch(h, FILE_SYSTEM, "LongPathsEnabled"),
        "developer_mode": lambda h: _switch(h, _APP_MODEL, "AllowDevelopmentWithoutDevLicense"),
        "smart_app_control": lambda h: (
            _APP_CONTROL.get(h.registry.value(_CODE_INTEGRITY, _APP_CONTROL_STATE)),
            f"registry {_CODE_INTEGRITY}",
        ),
        "admin": _admin,
        "cpu_count": lambda _: (os.cpu_count(), "os.cpu_count"),
        "memory_bytes": _memory,
        "temp": lambda h: temp_folder(h) or (None, ""),
        "git_long_paths": git_long_paths,
    }
    facts = {name: reader(host) for name, reader in readers.items()}
    return System(
        os="windows" if host.windows else "linux" if sys.platform == "linux" else "other",
        sources={name: source for name, (value, source) in facts.items() if value is not None},
        **{name: value for name, (value, _) in facts.items()},
    )


def _version(host: Host) -> Sourced:
    if sys.platform != "win32" and not host.windows:
        return os.uname().release, "uname"
    return winapi.windows_version() or "", "sys.getwindowsversion"


def _machine(host: Host) -> Sourced:
    if sys.platform != "win32" and not host.windows:
        return os.uname().machine, "uname"
    # the registry first: a process that Windows emulates on ARM64 is told AMD64
    name = "PROCESSOR_ARCHITECTURE"
    value = host.registry.value(STORED["machine"], name)
    if isinstance(value, str) and value:
        return value, f"registry {STORED['machine']}"
    return host.env.get("PROCESSOR_ARCHITEW6432") or host.env.get(name) or "", f"variable {name}"


def _code_page(host: Host) -> Sourced:
    value = host.registry.value(_CODE_PAGE, "ACP") if host.windows else None
    if isinstance(value, str) and value.isdecimal():
        return int(value), f"registry {_CODE_PAGE}"
    return winapi.ansi_code_page(), "kernel32"


def _switch(host: Host, key: str, name: str) -> Sourced:
    """A setting that is off where Windows holds no value for it."""
    if not host.windows:
        return None, ""
    value = host.registry.value(key, name)
    return value == 1, f"registry {key}" + ("" if value is not None else " (no value: off)")


def _admin(host: Host) -> Sourced:
    if host.windows or sys.platform == "win32":
        return winapi.is_admin(), "shell32 IsUserAnAdmin"
    return os.geteuid() == 0, "geteuid"


def _memory(_: Host) -> Sourced:
    asked = winapi.memory()
    if asked is not None:
        return asked.total, "GlobalMemoryStatusEx"
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        return parse_meminfo(Path("/proc/meminfo").read_text("ascii")).total, "/proc/meminfo"
    return None, ""


def parse_meminfo(text: str) -> winapi.Memory:
    """Total and available memory from Linux's /proc/meminfo, which counts in KiB.

    Raises:
        KeyError, IndexError, ValueError: the text is of another form.
    """
    lines = (line.partition(":") for line in text.splitlines())
    values = {name: rest for name, _, rest in lines}
    total, free = (int(values[name].split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    return winapi.Memory(total, free, free)


def temp_folder(host: Host) -> tuple[str, str] | None:
    """The folder of temporary files and its source, in the order of Python's `tempfile`."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        value = host.env.get(name)
        if value:
            return value, f"variable {name}"
    return None if host.windows else ("/tmp", "default")  # noqa: S108 - named, not used


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
