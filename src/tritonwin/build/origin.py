"""The version of a build, and the origin of its source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tritonwin.build.order import Request
from tritonwin.build.plan import BuildSource, SourceKind
from tritonwin.build.recipe import Recipe, SourceRelease
from tritonwin.build.source import NO_GIT, NOT_COPIED, refuse_secrets
from tritonwin.errors import UserError
from tritonwin.support.addresses import without_secrets
from tritonwin.support.matrix import wanted_series
from tritonwin.support.versions import series
from tritonwin.system.files import is_file

_ARCHIVE = ".tar.gz"
# "https://...", also with a slash forgotten, and what ssh takes: "git@host:path". Of git's other
# transports "ext::" runs a command, and "fd::" waits.
_ADDRESS = re.compile(r"(?i:https?|ssh|git|file):(?!:)|[^/\\@]+@[^/\\:]+:(?!:)")
_GIT_REASONS = {
    "sdist": "the source archive holds its submodules",
    "folder": "the folder is copied, without its history and without virtual environments",
    "git": "the source is a commit of a repository",
}


@dataclass(frozen=True, kw_only=True)
class SourceOrigin:
    """The source; `release` is None where the recipe does not know it.

    Attributes:
        why: why this version of it.
    """

    version: str
    source: BuildSource
    release: SourceRelease | None = None
    why: str = "asked for"


def choose(request: Request) -> SourceOrigin:
    """The source that was named, else the release that was asked for, else the one that fits best.

    Raises:
        UserError: no source, or no release of the recipe, was named.
    """
    recipe, order = request.recipe, request.order
    if order.source is not None:
        origin = _named(request, order.source)
    elif not recipe.releases:
        raise UserError(
            f"{recipe.name} has no source of its own",
            f"Name it: tritonwin build {recipe.name} --source DIR",
        )
    elif order.ref is not None:
        known = recipe.release(order.version) if order.version else recipe.releases[0]
        version = order.version or (known.version if known else "")
        source = _source(recipe, "git", recipe.repository, ref=order.ref)
        origin = SourceOrigin(version=version, source=source, why=f"the ref {order.ref}, asked for")
    else:
        release, why = _release(request)
        kind: SourceKind = "git" if release.ref else "sdist"
        where = recipe.repository if release.ref else release.file or ""
        source = _source(recipe, kind, where, release=release, ref=release.ref)
        origin = SourceOrigin(version=release.version, source=source, release=release, why=why)
    _tell(origin, request)
    return origin


def _source(
    recipe: Recipe,
    kind: SourceKind,
    location: str,
    *,
    release: SourceRelease | None = None,
    ref: str | None = None,
    subfolder: str = "",
) -> BuildSource:
    """The source as the recipe wants it; an archive of a release is held to its hash."""
    return BuildSource(
        kind=kind,
        location=location,
        sha256=release.sha256 if release and kind == "sdist" else None,
        ref=ref,
        submodules=recipe.submodules if kind == "git" else (),
        skip=(*(NOT_COPIED if kind == "folder" else ()), *recipe.skip),
        subfolder=subfolder or (release.subfolder if release and kind != "folder" else ""),
    )


def _tell(origin: SourceOrigin, request: Request) -> None:
    source, notes = origin.source, request.notes
    where = f"{source.location} {source.ref or ''}".strip()
    flags = "--version, --source, --ref"
    notes.because("source", f"{origin.version} from {where}", origin.why, flags)
    needed = "needed" if source.kind == "git" else "not needed"
    notes.because("git", needed, _GIT_REASONS[source.kind], "--source")
    git_is_here = request.machine.elsewhere or request.host.executables("git")
    if source.kind == "git" and not git_is_here:
        notes.refuse(*NO_GIT)
    if source.kind == "folder":
        folder = Path(source.location)
        empty = [s for s in request.recipe.submodules if not any((folder / s).glob("*"))]
        if empty:
            notes.refuse(
                f"the submodule {', '.join(empty)} of {folder} is not there",
                f'Fetch it: git -C "{folder}" submodule update --init {" ".join(empty)}',
            )


def _release(request: Request) -> tuple[SourceRelease, str]:
    """The release that was asked for, that this torch wants, or the newest; and why."""
    recipe, order, torch = request.recipe, request.order, request.torch
    if order.version is not None:
        if found := recipe.release(order.version):
            return found, "asked for"
        raise UserError(
            f"the recipe {recipe.name} has no version {order.version}",
            f"It has {', '.join(r.version for r in recipe.releases)}. "
            "Another one: --source DIR, or --ref TAG",
        )
    if not recipe.needs_torch and torch and (wanted := wanted_series(torch)):
        for release in recipe.releases:
            if series(release.version) == wanted:  # a branch has no series
                return release, f"torch {torch.version} wants Triton {wanted}"
    return recipe.releases[0], "the newest that the recipe knows"


def _named(request: Request, named: str) -> SourceOrigin:
    order, checkout, recipe = request.order, request.machine.checkout, request.recipe
    if not named.strip():
        raise UserError(
            "--source is empty", "Name a folder, an archive or an address: --source DIR"
        )
    file = Path(named)
    local = checkout is not None or is_file(file)
    address = not local and _ADDRESS.match(named) is not None
    if order.ref is not None and not address:
        raise UserError(
            f"--ref names a commit of a repository, and {named} is taken as it is",
            "Check it out there, or give its address: --source file:///...",
        )
    if checkout is not None:
        version = order.version or checkout.version or "0"
        known, where = recipe.release(version), str(file.absolute())
        source = _source(recipe, "folder", where, subfolder=checkout.subfolder)
        why = f"asked for, version {version}"
        return SourceOrigin(version=version, source=source, release=known, why=why)
    if address:
        refuse_secrets(named)
        if urlsplit(named).path.endswith(_ARCHIVE):
            raise UserError(
                f"no hash is known for {named}", "Fetch it by hand and give the file: --source FILE"
            )
        source = _source(recipe, "git", named, ref=order.ref)
        return SourceOrigin(version=order.version or "0", source=source)
    if not (named.endswith(_ARCHIVE) and local):
        kinds = f"neither a folder with a setup.py, nor a {_ARCHIVE}, nor an address"
        raise UserError(
            f"{without_secrets(named)} cannot be built: it is {kinds}",
            "Name the folder that holds setup.py: --source DIR",
        )
    release = next((r for r in recipe.releases if r.file == file.name), None)
    source = _source(recipe, "sdist", str(file.absolute()), release=release)
    version = order.version or (release.version if release else "0")
    return SourceOrigin(version=version, source=source, release=release)
