"""Files of a Python itself: its `._pth`, headers, VC runtime, and a file that shadows a package."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tritonwin.facts.dlls.loading import NAMES
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import Interpreter, PythonDev, RuntimeDll
from tritonwin.facts.toolchain.python_dev import read_headers
from tritonwin.problems.checks.python_files import MUTEX_BREAK
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import (
    CannotRemedyError,
    CopyHeaders,
    CopyRuntime,
    EnableSite,
    RenameShadow,
)
from tritonwin.support.links import WheelLink
from tritonwin.support.sources import find
from tritonwin.support.versions import older, parse, series
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheels import WheelNameError
from tritonwin.system.files import is_file, is_folder, names_in
from tritonwin.system.toml import read_resource

WHEEL = "msvc-runtime"
PARTS = ("Include", "libs")
_FIRST = "msvcp140.dll"  # the one whose age shows: libtriton needs it

# --- imports


def plan_rename(context: PlanContext, *, path: str) -> RenameShadow:
    del context
    old = Path(path)
    if not old.exists():
        raise CannotRemedyError(f"{old} is not there any more")
    # a name with a hyphen cannot be imported
    names = (f"{old.stem}-renamed{n if n > 1 else ''}{old.suffix}" for n in count(1))
    new = next(p for name in names if not (p := old.with_name(name)).exists())
    return RenameShadow(
        path=path,
        new=str(new),
        what=f"rename {old} to {new.name}",
        note="Code of yours that imports it has to be told its new name.",
    )


def apply_rename(change: RenameShadow, context: ApplyContext) -> None:
    context.journal.move(Path(change.path), Path(change.new))


def site_is_hidden(target: Interpreter) -> bool:
    """True where the `._pth` names no site-packages, so that nothing in it is found."""
    pth = target.pth
    if pth is None or pth.import_site:
        return False
    named = (entry.replace("\\", "/").rstrip("/").lower() for entry in pth.entries)
    return not any(entry.endswith("site-packages") for entry in named)


def plan_site(context: PlanContext) -> EnableSite:
    pth = context.target.pth
    if pth is None:
        raise CannotRemedyError(f"{context.target.executable} has no ._pth file")
    return EnableSite(
        path=pth.path,
        what=f"write `import site` into {Path(pth.path).name}",
        why="without it this Python does not see what is installed in Lib\\site-packages",
    )


def apply_site(change: EnableSite, context: ApplyContext) -> None:
    path = Path(change.path)
    context.journal.write(path, with_site(path.read_bytes()))


def with_site(text: bytes) -> bytes:
    """The file with `import site` as its last line, which ends as the others do."""
    end = b"\r\n" if b"\r\n" in text or b"\n" not in text else b"\n"
    gap = b"" if not text or text.endswith(b"\n") else end
    return text + gap + b"import site" + end


# --- headers and import libraries, of its own minor version


@dataclass(frozen=True, kw_only=True)
class PythonPackage:
    """One patch release of Python, which serves its whole minor version."""

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
    source = _of_folder(version, context) or _of_nuget(version, context)
    return CopyHeaders(
        folder=folder,
        what=f"put the headers and libraries of Python {source.version} into {folder}",
        sources=(source,),
        admin=context.target.writable is False,
    )


def _of_folder(version: str, context: PlanContext) -> FileSource | None:
    """The place that the user named, or a Python on this machine, of the same release if possible.

    An archive is looked into when it is unpacked.
    """
    given = context.headers and context.headers.absolute()
    others = [i for i in context.facts.interpreters if i.executable != context.target.executable]
    others.sort(key=lambda other: other.version != version)
    roots = [given] if given else [Path(p) for i in others if (p := i.base_prefix or i.prefix)]
    for root in roots:
        found = series(version) if root == given and is_file(root) else None
        found = found or _version(root, version, context)
        if found is not None:
            return FileSource(name="headers", version=found, location=str(root))
    if given:
        raise CannotRemedyError(
            f"{given} holds no headers and library of Python {series(version)}",
            "Name a zip, or the folder that has Include and libs in it: --headers PATH",
        )
    return None


def _version(root: Path, wanted: str, context: PlanContext) -> str | None:
    """The version of whole headers of that minor with their library; None where they are not."""
    headers = _headers(root / "Include", wanted)
    free_threaded = bool(context.target.free_threaded)
    digits = (series(wanted) or "").replace(".", "")
    library = root / "libs" / f"python{digits}{'t' * free_threaded}.lib"
    # python.org's headers serve both builds and say nothing
    if headers is None or headers.headers_free_threaded not in {None, free_threaded}:
        return None
    return headers.headers_version if is_file(library) else None


def _headers(folder: Path, wanted: str) -> PythonDev | None:
    """Whole headers of that minor version; None where they are not."""
    found = read_headers(folder)
    if found is None or found.headers_missing or found.headers_damaged:
        return None
    return found if series(found.headers_version or "") == series(wanted) else None


def _of_nuget(version: str, context: PlanContext) -> FileSource:
    """The package of python.org on nuget.org, by its pinned hash."""
    known = read_resource("tritonwin.remedies", "python_packages.toml", PythonPackages)
    row = next((r for r in known.package if series(r.version) == series(version)), None)
    if row is None or context.target.free_threaded:
        raise CannotRemedyError(
            f"no headers of Python {version} were found, and none are known to fetch",
            f"Install Python {series(version)} from python.org and run fix again, or name a folder "
            "or zip with its Include and libs: --headers PATH",
        )
    address = known.address.format(version=row.version)
    if context.offline:
        raise CannotRemedyError(
            f"no headers of Python {series(version)} are on this machine, and --offline was given",
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
    if _headers(parts["Include"], source.version) is None or not is_folder(parts["libs"]):
        raise CannotRemedyError(
            f"{source.location} does not hold whole headers of Python {series(source.version)}",
            "Name another folder or zip: --headers PATH",
        )
    staged = context.journal.scratch(folder / "Include")
    for part, place in parts.items():
        # contents alone: CopyFile2, which copytree would use, fails in places
        shutil.copytree(place, staged / part, copy_function=shutil.copyfile)
        context.journal.place(staged / part, folder / part)


# --- VC runtime beside python.exe: from System32, or from a wheel; no administrator rights


def plan_runtime(context: PlanContext, *, folder: str) -> CopyRuntime:
    if context.target.kind == "conda":
        raise CannotRemedyError(
            "in a conda environment the runtime is conda's own package",
            "conda install -c conda-forge vc14_runtime",
        )
    present = [d for d in context.facts.runtime_dlls if Path(d.path).parent == Path(folder)]
    source = _of_system(context) or _of_wheel(present, context)
    return CopyRuntime(
        folder=folder,
        what=f"put the VC runtime {source.version} beside {Path(folder).name}\\python.exe",
        sources=(source,),
        admin=context.target.writable is False,
    )


def _age(dlls: list[RuntimeDll]) -> str | None:
    return next((d.version for d in dlls if d.name == _FIRST and d.version), None)


def _of_system(context: PlanContext) -> FileSource | None:
    """System32's own, where it is as new as the tools that libtriton was linked with."""
    triton = context.facts.triton
    needed = (triton and triton.libtriton_linker) or MUTEX_BREAK
    found = [d for d in context.facts.runtime_dlls if d.place == "system32"]
    version = _age(found)
    if version is None or parse(version) is None or older(version, needed):
        return None
    return FileSource(name="vc-runtime", version=version, location=str(Path(found[0].path).parent))


def _of_wheel(present: list[RuntimeDll], context: PlanContext) -> FileSource:
    listing = find(WHEEL, context.sources())
    links = [link for link in listing.links if _fits(link) and (link.sha256 or link.local)]
    newest = max(links, key=lambda link: link.name.version, default=None)
    have = _age(present) or "0"
    if newest is None or older(str(newest.name.version), have):
        notes = f" ({'; '.join(listing.notes)})" if listing.notes else ""
        raise CannotRemedyError(
            f"no newer VC runtime than {have} was found{notes}",
            "Install Microsoft's vc_redist.x64.exe, or give a folder with a wheel of "
            f"{WHEEL}: --find-links DIR",
        )
    return newest.as_file()


def _fits(link: WheelLink) -> bool:
    if link.refused is not None:
        return False
    try:
        return any(tag.platform == "win_amd64" for tag in link.name.tags)
    except WheelNameError:
        return False


def apply_runtime(change: CopyRuntime, context: ApplyContext) -> None:
    root, folder = context.content(change.sources[0]), Path(change.folder)
    named = str(root) == change.sources[0].location  # System32 itself, with thousands of files
    found = {path.name.lower(): path for path in (root.iterdir() if named else root.rglob("*"))}
    for name in (each for each in NAMES if each in found):
        new, there = found[name], folder / name
        if name == _FIRST or not there.is_file() or _is_newer(new, there):
            context.journal.write(there, new.read_bytes())


def _is_newer(path: Path, there: Path) -> bool:
    new, old = (read_pe(p, version=True) for p in (path, there))
    if new is None or new.file_version is None:
        return False
    return old is None or old.file_version is None or older(old.file_version, new.file_version)
