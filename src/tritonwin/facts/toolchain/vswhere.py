"""Visual Studio's instances, as Microsoft's vswhere.exe or their folders tell."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tritonwin.system import process
from tritonwin.system.files import is_file, names_in, version_key
from tritonwin.system.host import Host

_TIMEOUT = 20.0  # seconds; the first answer after a start of Windows may take five
_ARGUMENTS = ("-all", "-prerelease", "-products", "*", "-format", "json", "-utf8")
_YEARS = {"18": "2026"}  # since version 18 the folder is no longer named by the year


@dataclass(frozen=True)
class Instance:
    """One installation of Visual Studio or its Build Tools."""

    path: Path
    product: str  # "Visual Studio Build Tools 2022"
    source: str
    version: str = ""  # "17.14.36408.4"
    complete: bool = True  # False while an installation is unfinished or has failed


def find_instances(host: Host) -> tuple[Instance, ...]:
    """All instances, the newest first: by vswhere, then what else lies in Program Files."""
    asked, trouble = _ask(host)
    newest_first = sorted(asked, key=lambda i: version_key(i.version), reverse=True)
    return (*newest_first, *_in_program_files(host, trouble))


def parse(output: bytes) -> tuple[Instance, ...]:
    """Read the JSON of `vswhere -format json -utf8`.

    Raises:
        ValueError: it is not the JSON list that vswhere prints.
    """
    try:
        listed = json.loads(output.decode("utf-8-sig", "replace") or "[]")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(listed, list):
        raise ValueError("not a list")  # noqa: TRY004 - one kind of error for output that is not vswhere's
    return tuple(i for i in map(_instance, listed) if i)


def _instance(entry: object) -> Instance | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("installationPath"), str):
        return None
    path = Path(entry["installationPath"])
    return Instance(
        path=path,
        product=str(entry.get("displayName") or product_name(path)),
        source="vswhere",
        version=str(entry.get("installationVersion") or ""),
        complete=entry.get("isComplete") is not False,
    )


def _ask(host: Host) -> tuple[tuple[Instance, ...], str]:
    """The instances that vswhere knows, and what went wrong with it, if anything did."""
    if not host.windows:
        return (), ""
    places = (f / "Microsoft Visual Studio/Installer/vswhere.exe" for f in _program_files(host))
    program = next((p for p in places if p.is_absolute() and is_file(p)), None)
    if program is None:
        return (), ""
    try:
        done = process.run(program, _ARGUMENTS, timeout=_TIMEOUT)
        return (parse(done.out), "") if done.code == 0 else ((), done.ending())
    except OSError as error:
        return (), error.strerror or "could not be started"
    except ValueError:
        return (), "unreadable output"


def _in_program_files(host: Host, trouble: str) -> Iterable[Instance]:
    source = f"Program Files (vswhere: {trouble})" if trouble else "Program Files"
    for root in _program_files(host):
        studio = root / "Microsoft Visual Studio"
        for year in sorted(names_in(studio), key=version_key, reverse=True):
            for edition in names_in(studio / year):
                path = studio / year / edition
                if "VC" in names_in(path):
                    yield Instance(path=path, product=product_name(path), source=source)


def _program_files(host: Host) -> tuple[Path, ...]:
    """Program Files; `ProgramFiles(x86)` is missing from some environments (MSYS, services)."""
    drive = host.env.get("SystemDrive") or "C:"
    return tuple(dict.fromkeys((*host.program_files(), Path(f"{drive}\\Program Files (x86)"))))


def product_name(path: Path) -> str:
    """A name by the folder: "Visual Studio 2022 BuildTools"."""
    year = path.parent.name
    return f"Visual Studio {_YEARS.get(year, year)} {path.name}"
