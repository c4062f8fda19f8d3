"""Newer VC runtime DLLs beside python.exe: from System32, or from a wheel. No admin rights."""

from __future__ import annotations

from pathlib import Path

from tritonwin.facts.dlls.loading import NAMES
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import RuntimeDll
from tritonwin.problems.checks.python_files import MUTEX_BREAK
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, CopyRuntime
from tritonwin.support.links import WheelLink
from tritonwin.support.sources import find
from tritonwin.support.versions import older, parse
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheels import WheelNameError

WHEEL = "msvc-runtime"
_FIRST = "msvcp140.dll"  # the one whose age shows: libtriton needs it


def plan_runtime(context: PlanContext, *, folder: str) -> CopyRuntime:
    if context.target.kind == "conda":
        raise CannotRemedyError(
            "in a conda environment the runtime is conda's own package",
            "conda install -c conda-forge vc14_runtime",
        )
    present = [d for d in context.facts.runtime_dlls if Path(d.path).parent == Path(folder)]
    source = _system(context) or _wheel(present, context)
    return CopyRuntime(
        folder=folder,
        what=f"put the VC runtime {source.version} beside {Path(folder).name}\\python.exe",
        sources=(source,),
        admin=context.target.writable is False,
    )


def _version(dlls: list[RuntimeDll]) -> str | None:
    return next((d.version for d in dlls if d.name == _FIRST and d.version), None)


def _system(context: PlanContext) -> FileSource | None:
    """System32's own, where it is as new as the tools that libtriton was linked with."""
    triton = context.facts.triton
    needed = (triton and triton.libtriton_linker) or MUTEX_BREAK
    found = [d for d in context.facts.runtime_dlls if d.place == "system32"]
    version = _version(found)
    if version is None or parse(version) is None or older(version, needed):
        return None
    return FileSource(name="vc-runtime", version=version, location=str(Path(found[0].path).parent))


def _wheel(present: list[RuntimeDll], context: PlanContext) -> FileSource:
    listing = find(WHEEL, context.sources())
    links = [link for link in listing.links if _fits(link) and (link.sha256 or link.local)]
    newest = max(links, key=lambda link: link.name.version, default=None)
    have = _version(present) or "0"
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
