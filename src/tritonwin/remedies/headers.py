"""Copy to a Python the headers and import libraries of its own minor version."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.toolchain.python_dev import Headers, read_headers
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, CopyHeaders
from tritonwin.support.versions import series
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import is_file, is_folder, names_in
from tritonwin.system.toml import read_resource

PARTS = ("Include", "libs")


@dataclass(frozen=True, kw_only=True)
class PythonPackage:
    """One patch release of Python, which serves its whole minor version."""

    python: str  # "3.12"
    version: str
    sha256: str
    megabytes: int


@dataclass(frozen=True, kw_only=True)
class PythonPackages:
    """The content of `python_packages.toml`."""

    address: str  # with {version}
    package: tuple[PythonPackage, ...]


def plan_headers(context: PlanContext, *, version: str, folder: str) -> CopyHeaders:
    if not context.host.windows:
        raise CannotRemedyError(
            "headers of a Python on this system come with its own package",
            "Install python3-dev, python3-devel or the like.",
        )
    if context.headers is not None:
        source = _given(context.headers.absolute(), version, context)
    else:
        source = _of_another(version, context) or _package(version, context)
    return CopyHeaders(
        folder=folder,
        what=f"put the headers and libraries of Python {source.version} into {folder}",
        sources=(source,),
        admin=context.target.writable is False,
    )


def _of_another(version: str, context: PlanContext) -> FileSource | None:
    """The headers of another Python on this machine, of the same patch release if there is one."""
    others = [i for i in context.facts.interpreters if i.executable != context.target.executable]
    for other in sorted(others, key=lambda i: i.version != version):
        root = other.base_prefix or other.prefix
        found = _version(Path(root), version, context) if root else None
        if root and found:
            return FileSource(name="headers", version=found, location=root)
    return None


def _given(path: Path, version: str, context: PlanContext) -> FileSource:
    """The folder or archive that the user named; an archive is looked into when it is unpacked."""
    found = series(version) if is_file(path) else _version(path, version, context)
    if found is None:
        raise CannotRemedyError(
            f"{path} holds no headers and library of Python {series(version)}",
            "Name a zip, or the folder that has Include and libs in it: --headers PATH",
        )
    return FileSource(name="headers", version=found, location=str(path))


def _version(root: Path, wanted: str, context: PlanContext) -> str | None:
    """The version of whole headers of that minor with their library; None where they are not."""
    headers = _whole(root / "Include")
    if headers is None:
        return None
    free_threaded = bool(context.target.free_threaded)
    # python.org's headers serve both builds and say nothing
    threads = headers.free_threaded in {None, free_threaded}
    digits = (series(wanted) or "").replace(".", "")
    library = root / "libs" / f"python{digits}{'t' * free_threaded}.lib"
    fits = threads and series(headers.version or "") == series(wanted) and is_file(library)
    return headers.version if fits else None


def _whole(folder: Path) -> Headers | None:
    headers = read_headers(folder)
    return None if headers is None or headers.missing or headers.damaged else headers


def _package(version: str, context: PlanContext) -> FileSource:
    """The package of python.org on nuget.org, by its pinned hash."""
    known = read_resource("tritonwin.remedies", "python_packages.toml", PythonPackages)
    row = next((r for r in known.package if r.python == series(version)), None)
    if row is None or context.target.free_threaded:
        raise CannotRemedyError(
            f"no headers of Python {version} were found, and none are known to fetch",
            f"Install Python {series(version)} from python.org and run fix again, or name a folder "
            "or zip with its Include and libs: --headers PATH",
        )
    address = known.address.format(version=row.version)
    if context.offline:
        raise CannotRemedyError(
            f"no headers of Python {row.python} are on this machine, and --offline was given",
            f"Fetch {address} and give it: --headers FILE",
        )
    return FileSource(
        name="headers",
        version=row.version,
        location=address,
        sha256=row.sha256,
        size=row.megabytes * 1_000_000,
    )


def apply_headers(change: CopyHeaders, context: ApplyContext) -> None:
    source, folder = change.sources[0], Path(change.folder)
    root = context.content(source)
    if not is_folder(root / "Include"):  # in nuget.org's package: tools/include
        root = next((p.parent.parent for p in root.rglob("[Ii]nclude/Python.h")), root)
    found = {name.lower(): root / name for name in names_in(root)}
    parts = {part: found.get(part.lower(), root / part) for part in PARTS}
    headers, wanted = _whole(parts["Include"]), series(source.version)
    right = headers is not None and series(headers.version or "") == wanted
    if not right or not is_folder(parts["libs"]):
        raise CannotRemedyError(
            f"{source.location} does not hold whole headers of Python {wanted}",
            "Name another folder or zip: --headers PATH",
        )
    staged = context.journal.scratch(folder / "Include")
    for part, place in parts.items():
        # contents alone: CopyFile2, which copytree would use, fails in places
        shutil.copytree(place, staged / part, copy_function=shutil.copyfile)
        context.journal.place(staged / part, folder / part)
