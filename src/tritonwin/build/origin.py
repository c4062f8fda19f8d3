"""Which version is built, and where its source comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from tritonwin.build import login as logins
from tritonwin.build.checkout import Checkout
from tritonwin.build.copying import NOT_COPIED
from tritonwin.build.model import Decision, Refusal, Source
from tritonwin.build.order import Machine, Order
from tritonwin.build.recipe import Recipe, Release
from tritonwin.errors import UserError
from tritonwin.support.matrix import wanted_series
from tritonwin.support.versions import series
from tritonwin.system.files import is_file

_ARCHIVES = (".tar.gz", ".zip")
# "https://...", also with a slash forgotten, and what ssh takes: "git@host:path"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|[^/\\@]+@[^/\\:]+:")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """`release` is None for a source that is none of the recipe's."""

    version: str
    source: Source
    release: Release | None
    decision: Decision
    refusals: tuple[Refusal, ...] = ()


def choose(recipe: Recipe, order: Order, machine: Machine) -> Origin:
    """The source that was named, else the release that was asked for, else the one that fits best.

    Raises:
        UserError: what was named is no source, or no release of the recipe.
    """
    if order.source is not None:
        return _named(recipe, order, order.source, machine)
    if not recipe.releases:
        raise UserError(
            f"{recipe.name} has no source of its own",
            f"Name it: tritonwin build {recipe.name} --source DIR",
        )
    if order.ref is not None:
        return _of_ref(recipe, order, order.ref)
    release, reason = _release(recipe, order, machine)
    source = Source(
        kind="git" if release.ref else "sdist",
        location=recipe.repository if release.ref else (release.file or ""),
        sha256=release.sha256,
        ref=release.ref,
        submodules=recipe.submodules if release.ref else (),
        skip=recipe.skip,
        subfolder=release.subfolder,
        requires_git=release.ref is not None,
    )
    return _origin(release.version, source, release, reason, machine)


def _release(recipe: Recipe, order: Order, machine: Machine) -> tuple[Release, str]:
    if order.version is not None:
        found = recipe.release(order.version)
        if found is None:
            have = ", ".join(r.version for r in recipe.releases)
            raise UserError(
                f"the recipe {recipe.name} has no version {order.version}",
                f"It has {have}. Another one: --source DIR, or --ref TAG",
            )
        return found, "asked for"
    torch = machine.facts.torch
    if not recipe.needs_torch and torch:
        wanted = wanted_series(torch)
        # of a branch there is no series, and of a torch that is not known no Triton
        fitting = next((r for r in recipe.releases if wanted and series(r.version) == wanted), None)
        if fitting:
            return fitting, f"torch {torch.version} wants Triton {wanted}"
    return recipe.releases[0], "the newest that the recipe knows"


def _of_ref(recipe: Recipe, order: Order, ref: str) -> Origin:
    source = Source(
        kind="git",
        location=recipe.repository,
        ref=ref,
        submodules=recipe.submodules,
        skip=recipe.skip,
        requires_git=True,
    )
    known = recipe.release(order.version) if order.version else recipe.releases[0]
    version = order.version or (known.version if known else "")
    return _origin(version, source, None, f"the ref {ref}, asked for", None)


def _named(recipe: Recipe, order: Order, named: str, machine: Machine) -> Origin:
    if not named.strip():
        raise UserError(
            "--source names nothing", "Name a folder, an archive or an address: --source DIR"
        )
    local = machine.checkout is not None or is_file(Path(named))
    address = not local and _ADDRESS.match(named) is not None
    if order.ref is not None and not address:
        raise UserError(
            f"--ref names a commit of a repository, and {named} is taken as it is",
            "Check it out there, or give its address: --source file:///...",
        )
    if machine.checkout is not None:
        return _folder(recipe, order, machine, machine.checkout)
    if address:
        return _repository(recipe, order, named, machine)
    if named.endswith(_ARCHIVES) and local:
        return _archive(recipe, order, Path(named), machine)
    kinds = f"no folder with a setup.py, no {' or '.join(_ARCHIVES)}, no address"
    raise UserError(
        f"{named} is no source: {kinds}", "Name the folder that holds setup.py: --source DIR"
    )


def _folder(recipe: Recipe, order: Order, machine: Machine, checkout: Checkout) -> Origin:
    version = order.version or checkout.version or "0"
    source = Source(
        kind="folder",
        location=str(checkout.path.absolute()),
        skip=(*NOT_COPIED, *recipe.skip),
        subfolder=checkout.subfolder,
    )
    reason = f"asked for, version {version}"
    found = _origin(version, source, recipe.release(version), reason, machine)
    return _with_submodules(found, recipe, checkout.path)


def _repository(recipe: Recipe, order: Order, named: str, machine: Machine) -> Origin:
    location, login = logins.split(named)
    if urlsplit(location).path.endswith(_ARCHIVES):
        raise UserError(
            f"no hash is known for {location}", "Fetch it by hand and give the file: --source FILE"
        )
    variable = logins.variable(location)
    value = login.value if login else machine.host.env.get(variable) if variable else None
    source = Source(
        kind="git",
        location=location,
        ref=order.ref,
        submodules=recipe.submodules,
        skip=recipe.skip,
        requires_git=True,
        login=variable if value else "",
        helpers=bool(value) and ":" not in (value or ""),
    )
    return _origin(order.version or "0", source, None, "asked for", machine)


def _archive(recipe: Recipe, order: Order, file: Path, machine: Machine) -> Origin:
    release = next((r for r in recipe.releases if r.file == file.name), None)
    source = Source(
        kind="sdist",
        location=str(file.absolute()),
        sha256=release.sha256 if release else None,
        skip=recipe.skip,
    )
    version = order.version or (release.version if release else "0")
    return _origin(version, source, release, "asked for", machine)


def _with_submodules(origin: Origin, recipe: Recipe, folder: Path) -> Origin:
    empty = [s for s in recipe.submodules if not any((folder / s).glob("*"))]
    if not empty:
        return origin
    refusal = Refusal(
        problem="",
        message=f"the submodule {', '.join(empty)} of {folder} is not there",
        help=f'Fetch it: git -C "{folder}" submodule update --init {" ".join(empty)}',
    )
    return replace(origin, refusals=(*origin.refusals, refusal))


def _origin(
    version: str, source: Source, release: Release | None, reason: str, machine: Machine | None
) -> Origin:
    refusals = []
    if source.requires_git and machine and not machine.host.executables("git"):
        refusals.append(
            Refusal(
                problem="",
                message="git is needed to fetch the source, and there is none on PATH",
                help="Install git, or give an unpacked source: --source DIR",
            )
        )
    where = source.location
    if source.kind == "git":
        where = f"{where} {source.ref or ''}"
    return Origin(
        version=version,
        source=source,
        release=release,
        decision=Decision(
            name="source",
            value=f"{version} from {where}".strip(),
            reason=reason,
            flag="--version, --source, --ref",
        ),
        refusals=tuple(refusals),
    )
