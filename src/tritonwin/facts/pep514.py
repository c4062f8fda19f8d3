"""Pythons that registered themselves with Windows (PEP 514), and which of them `py` starts."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.facts.model import PythonKind
from tritonwin.system.host import Host

_HIVES: tuple[tuple[str, PythonKind], ...] = (("HKCU", "user"), ("HKLM", "system"))
_NO_PYTHON = "pylauncher"  # the launcher's own settings, which PEP 514 tells readers to skip
_LAUNCHER = "PythonCore"  # the company whose tags `py -3.12` names
_SETTINGS_LIMIT = 65536  # bytes of a py.ini that are read


@dataclass(frozen=True, kw_only=True)
class Registration:
    """One `Software\\Python\\COMPANY\\TAG` key."""

    executable: Path
    source: str
    company: str
    tag: str  # "3.12", "3.13t", "3.12-32"
    version: str | None
    kind: PythonKind  # by the hive: for one user or for all


def registrations(host: Host) -> tuple[Registration, ...]:
    """Every registered Python, user before machine, 64-bit view before 32-bit view.

    The one that `py` starts without arguments is marked in its source. What the registry names
    may be gone from the disk.
    """
    found = tuple(_read(host))
    tag = _launcher_tag(host, found)
    return tuple(
        replace(entry, source=f"{entry.source} (what `py` starts)")
        if entry.company == _LAUNCHER and entry.tag == tag
        else entry
        for entry in found
    )


def _read(host: Host) -> Iterator[Registration]:
    seen: set[Path] = set()
    for hive, kind in _HIVES:
        for view in (64, 32):
            root = f"{hive}\\SOFTWARE\\Python"
            for company in host.registry.subkeys(root, view=view):
                if company.lower() == _NO_PYTHON:
                    continue
                for tag in host.registry.subkeys(f"{root}\\{company}", view=view):
                    key = f"{root}\\{company}\\{tag}"
                    executable = _executable(host, key, view)
                    if executable is None or executable in seen:
                        continue
                    seen.add(executable)
                    yield Registration(
                        executable=executable,
                        source=f"registry {key}",
                        company=company,
                        tag=tag,
                        version=_version(host, key, tag, view),
                        kind=kind,
                    )


def _executable(host: Host, key: str, view: int) -> Path | None:
    install = f"{key}\\InstallPath"
    named = host.registry.value(install, "ExecutablePath", view=view)
    if isinstance(named, str) and named:
        return Path(named)
    folder = host.registry.value(install, "", view=view)
    return Path(folder) / "python.exe" if isinstance(folder, str) and folder else None


def _version(host: Host, key: str, tag: str, view: int) -> str | None:
    values = (host.registry.value(key, name, view=view) for name in ("Version", "SysVersion"))
    for text in (*values, tag):
        match = re.match(r"3\.\d+(\.\d+)?", text) if isinstance(text, str) else None
        if match:
            return match.group()
    return None


def _launcher_tag(host: Host, found: tuple[Registration, ...]) -> str | None:
    """The tag that `py` chooses: PY_PYTHON, py.ini, else the newest that is no pre-release build.

    Source: "Python Launcher for Windows" in the manual of CPython, section "Customization".
    """
    tags = [entry.tag for entry in found if entry.company == _LAUNCHER]
    wanted = host.env.get("PY_PYTHON") or _ini_default(host)
    if wanted:
        # "3" leaves the minor to a setting of its own, which few people know; take the newest
        tags = [tag for tag in tags if tag == wanted or tag.startswith(f"{wanted}.")]
    return max(tags, key=_order, default=None)


def _order(tag: str) -> tuple[int, bool]:
    match = re.match(r"3\.(\d+)(.*)", tag)
    return (int(match[1]), not match[2]) if match else (-1, False)


def _ini_default(host: Host) -> str | None:
    for folder in (host.env.folder("LOCALAPPDATA"), host.env.folder("SystemRoot")):
        if folder is None:
            continue
        with contextlib.suppress(OSError), (folder / "py.ini").open("rb") as file:
            text = file.read(_SETTINGS_LIMIT).decode("utf-8-sig", "replace")
            match = re.search(r"(?im)^[ \t]*python[ \t]*=[ \t]*(\S+)", text)
            if match:
                return match[1]
    return None
