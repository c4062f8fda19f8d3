"""The version of a build, and the origin of its source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tritonwin.build import git
from tritonwin.build.copying import NOT_COPIED
from tritonwin.build.order import Checkout, Request
from tritonwin.build.plan import BuildSource
from tritonwin.build.recipe import SourceRelease
from tritonwin.errors import UserError
from tritonwin.support.choice import Choice, Obstacle, Reason
from tritonwin.support.matrix import wanted_series
from tritonwin.support.versions import series
from tritonwin.system.files import is_file

_ARCHIVES = (".tar.gz", ".zip")
# "https://...", also with a slash forgotten, and what ssh takes: "git@host:path"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|[^/\\@]+@[^/\\:]+:")
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


def choose(request: Request) -> Choice[SourceOrigin]:
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
        source = _git(request, recipe.repository, order.ref)
        origin = SourceOrigin(version=version, source=source, why=f"the ref {order.ref}, asked for")
    else:
        origin = _released(request)
    return Choice(
        value=origin,
        reasons=tuple(_reasons(origin)),
        refusals=tuple(_refusals(origin.source, request)),
    )


def _released(request: Request) -> SourceOrigin:
    recipe = request.recipe
    release, why = _release(request)
    if release.ref:
        source = _git(request, recipe.repository, release.ref, release.subfolder)
    else:
        source = BuildSource(
            kind="sdist",
            location=release.file or "",
            sha256=release.sha256,
            skip=recipe.skip,
            subfolder=release.subfolder,
        )
    return SourceOrigin(version=release.version, source=source, release=release, why=why)


def _release(request: Request) -> tuple[SourceRelease, str]:
    recipe, order, torch = request.recipe, request.order, request.torch
    if order.version is not None:
        found = recipe.release(order.version)
        if found is None:
            have = ", ".join(r.version for r in recipe.releases)
            raise UserError(
                f"the recipe {recipe.name} has no version {order.version}",
                f"It has {have}. Another one: --source DIR, or --ref TAG",
            )
        return found, "asked for"
    if not recipe.needs_torch and torch:
        wanted = wanted_series(torch)
        # of a branch there is no series, and of a torch that is not known no Triton
        fitting = next((r for r in recipe.releases if wanted and series(r.version) == wanted), None)
        if fitting:
            return fitting, f"torch {torch.version} wants Triton {wanted}"
    return recipe.releases[0], "the newest that the recipe knows"


def _git(
    request: Request, location: str, ref: str | None, subfolder: str = "", login: str | None = None
) -> BuildSource:
    """A commit of a repository; `login` is the value for its host, if there is one."""
    return BuildSource(
        kind="git",
        location=location,
        ref=ref,
        submodules=request.recipe.submodules,
        skip=request.recipe.skip,
        subfolder=subfolder,
        login=git.login_variable(location) if login else "",
        helpers=bool(login) and ":" not in (login or ""),
    )


def _named(request: Request, named: str) -> SourceOrigin:
    order, checkout = request.order, request.machine.checkout
    if not named.strip():
        raise UserError(
            "--source is empty", "Name a folder, an archive or an address: --source DIR"
        )
    local = checkout is not None or is_file(Path(named))
    address = not local and _ADDRESS.match(named) is not None
    if order.ref is not None and not address:
        raise UserError(
            f"--ref names a commit of a repository, and {named} is taken as it is",
            "Check it out there, or give its address: --source file:///...",
        )
    if checkout is not None:
        return _folder(request, checkout)
    if address:
        return _repository(request, named)
    if named.endswith(_ARCHIVES) and local:
        return _archive(request, Path(named))
    kinds = f"neither a folder with a setup.py, nor {' nor '.join(_ARCHIVES)}, nor an address"
    raise UserError(
        f"{named} cannot be built: it is {kinds}",
        "Name the folder that holds setup.py: --source DIR",
    )


def _folder(request: Request, checkout: Checkout) -> SourceOrigin:
    version = request.order.version or checkout.version or "0"
    source = BuildSource(
        kind="folder",
        location=str(checkout.path.absolute()),
        skip=(*NOT_COPIED, *request.recipe.skip),
        subfolder=checkout.subfolder,
    )
    release = request.recipe.release(version)
    why = f"asked for, version {version}"
    return SourceOrigin(version=version, source=source, release=release, why=why)


def _repository(request: Request, named: str) -> SourceOrigin:
    location, login = git.split_login(named)
    if urlsplit(location).path.endswith(_ARCHIVES):
        raise UserError(
            f"no hash is known for {location}", "Fetch it by hand and give the file: --source FILE"
        )
    variable = git.login_variable(location)
    value = login.value if login else request.host.env.get(variable) if variable else None
    source = _git(request, location, request.order.ref, login=value)
    return SourceOrigin(version=request.order.version or "0", source=source)


def _archive(request: Request, file: Path) -> SourceOrigin:
    release = next((r for r in request.recipe.releases if r.file == file.name), None)
    source = BuildSource(
        kind="sdist",
        location=str(file.absolute()),
        sha256=release.sha256 if release else None,
        skip=request.recipe.skip,
    )
    version = request.order.version or (release.version if release else "0")
    return SourceOrigin(version=version, source=source, release=release)


def _reasons(origin: SourceOrigin) -> Iterator[Reason]:
    source = origin.source
    where = f"{source.location} {source.ref or ''}".strip()
    yield Reason(
        name="source",
        value=f"{origin.version} from {where}",
        reason=origin.why,
        flag="--version, --source, --ref",
    )
    needed = "needed" if source.kind == "git" else "not needed"
    yield Reason(name="git", value=needed, reason=_GIT_REASONS[source.kind], flag="--source")
    if source.login:
        reason = "no plan, script or log holds it; a script and --resume read it there"
        yield Reason(name="login", value=f"the variable {source.login}", reason=reason)


def _refusals(source: BuildSource, request: Request) -> Iterator[Obstacle]:
    if source.kind == "git" and not request.host.executables("git"):
        yield Obstacle(
            problem="",
            message="git is needed to fetch the source, and there is none on PATH",
            help="Install git, or give an unpacked source: --source DIR",
        )
    if source.kind == "folder":
        folder = Path(source.location)
        empty = [s for s in request.recipe.submodules if not any((folder / s).glob("*"))]
        if empty:
            yield Obstacle(
                problem="",
                message=f"the submodule {', '.join(empty)} of {folder} is not there",
                help=f'Fetch it: git -C "{folder}" submodule update --init {" ".join(empty)}',
            )
