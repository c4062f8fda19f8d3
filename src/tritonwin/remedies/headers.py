"""Copy to a Python the headers and import libraries of its own minor version."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.toolchain.python_dev import read_headers
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, CopyHeaders
from tritonwin.support import addresses
from tritonwin.support.archives import names_in_zip, unpack_folders
from tritonwin.support.versions import series
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import is_file, is_folder
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


@dataclass(frozen=True)
class _Wanted:
    series: str  # "3.12"
    version: str  # "3.12.9"
    free_threaded: bool

    @property
    def library(self) -> str:
        return f"python{self.series.replace('.', '')}{'t' if self.free_threaded else ''}.lib"


def plan_headers(context: PlanContext, *, version: str, folder: str) -> CopyHeaders:
    if not context.host.windows:
        raise CannotRemedyError(
            "headers of a Python on this system come with its own package",
            "Install python3-dev, python3-devel or the like.",
        )
    wanted = _Wanted(series(version) or version, version, bool(context.target.free_threaded))
    if context.headers is not None:
        source = _given(context.headers, wanted)
    else:
        source = _of_another(wanted, context) or _package(wanted, context)
    return CopyHeaders(
        folder=folder,
        what=f"put the headers and libraries of Python {source.version} into {folder}",
        sources=(source,),
        admin=context.target.writable is False,
    )


def _of_another(wanted: _Wanted, context: PlanContext) -> FileSource | None:
    """The headers of another Python on this machine, of the same patch release if there is one."""
    others = [
        i
        for i in context.facts.interpreters
        if i.executable != context.target.executable and series(i.version or "") == wanted.series
    ]
    for other in sorted(others, key=lambda i: i.version != wanted.version):
        root = other.base_prefix or other.prefix
        version = _fits(Path(root), wanted) if root else None
        if root and version:
            return FileSource(name="headers", version=version, location=root)
    return None


def _given(path: Path, wanted: _Wanted) -> FileSource:
    path = path.absolute()
    if is_folder(path):
        version = _fits(path, wanted)
        if version is None:
            raise CannotRemedyError(
                f"{path} holds no headers and {wanted.library} of Python {wanted.series}",
                "Name the folder that has Include and libs in it.",
            )
        return FileSource(name="headers", version=version, location=str(path))
    if not is_file(path):
        raise CannotRemedyError(f"there is no file or folder {path}", "Check --headers.")
    _root_in(names_in_zip(path), path)
    return FileSource(
        name="headers",
        version=wanted.series,
        location=str(path),
        size=path.stat().st_size,
    )


def _fits(root: Path, wanted: _Wanted) -> str | None:
    """The version of whole headers of that minor with their library; None where they are not."""
    headers = read_headers(root / "Include")
    if headers is None or headers.missing or headers.damaged or headers.version is None:
        return None
    # python.org's headers serve both builds and say nothing
    threads = headers.free_threaded in {None, wanted.free_threaded}
    whole = threads and is_file(root / "libs" / wanted.library)
    return headers.version if whole and series(headers.version) == wanted.series else None


def _package(wanted: _Wanted, context: PlanContext) -> FileSource:
    """The package of python.org on nuget.org, by its pinned hash."""
    known = read_resource("tritonwin.remedies", "python_packages.toml", PythonPackages)
    row = next((r for r in known.package if r.python == wanted.series), None)
    by_hand = (
        f"Install Python {wanted.series} from python.org and run fix again, or name a folder or "
        "zip with its Include and libs: --headers PATH"
    )
    if row is None or wanted.free_threaded:
        raise CannotRemedyError(
            f"no headers of Python {wanted.version} were found, and none are known to fetch",
            by_hand,
        )
    address = known.address.format(version=row.version)
    if context.offline:
        raise CannotRemedyError(
            f"no headers of Python {wanted.series} are on this machine, and --offline was given",
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
    source = change.sources[0]
    folder = Path(change.folder)
    staged = context.journal.scratch(folder / "Include")
    path = addresses.local_path(source.location)
    if path is None:
        path = context.scratch / "headers.zip"
        context.fetch(source, path)
    if path.is_dir():
        for part in PARTS:
            # contents alone: CopyFile2, which copytree would use, fails in places
            shutil.copytree(path / part, staged / part, copy_function=shutil.copyfile)
    else:
        root = _root_in(names_in_zip(path), path)
        unpack_folders(path, {f"{root}{part}": staged / part for part in PARTS})
    found, wanted = read_headers(staged / "Include"), series(source.version)
    if found is None or series(found.version or "") != wanted or found.missing or found.damaged:
        raise CannotRemedyError(
            f"{source.location} does not hold whole headers of Python {wanted}",
            "Name another folder or zip: --headers PATH",
        )
    for part in PARTS:
        context.journal.place(staged / part, folder / part)


def _root_in(members: tuple[str, ...], path: Path) -> str:
    """The prefix of `include/Python.h` in a zip: "tools/" in nuget.org's package."""
    ends = ("include/python.h",)
    found = [m for m in members if m.replace("\\", "/").lower().endswith(ends)]
    if not found:
        raise CannotRemedyError(
            f"{path} holds no include/Python.h", "Name a zip that has Include and libs in it."
        )
    shortest = min(found, key=len).replace("\\", "/")
    return shortest[: -len(ends[0])]
