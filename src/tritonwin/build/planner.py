"""The plan of a build: every choice with its reason, and what is against it."""

from __future__ import annotations

import hashlib
import ntpath
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tritonwin.build import command, jobs, tools, triton
from tritonwin.build.order import BuildMachine, Order, Request
from tritonwin.build.recipe import Circumstances, Recipe, SourceRelease, load, toolchain
from tritonwin.build.records import (
    GIB,
    BuildPlan,
    BuildSource,
    Layout,
    SourceEdit,
    SourceKind,
)
from tritonwin.build.source import ADDRESS, NO_GIT, NOT_COPIED
from tritonwin.build.tools import Tools
from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets
from tritonwin.support.addresses import without_secrets
from tritonwin.support.matrix import wanted_series
from tritonwin.support.versions import series
from tritonwin.system.files import is_file, is_folder

_TRITON = "triton"
_NVCC_FLAGS = "NVCC_APPEND_FLAGS"
_EXTENSIONS = 4  # side by side, where all files fit at once
_PATH_LIMIT = 259  # characters of a path on Windows, the end of the string not counted
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_ARCHIVE = ".tar.gz"
_LONGEST = 60  # characters of a local version; the wheel's name has to be one of a file


def plan(order: Order, machine: BuildMachine) -> BuildPlan:
    """Make the plan. It says itself whether it can be carried out: `BuildPlan.possible`.

    Raises:
        UserError: no target, no such recipe, version or source, or a value that no variable can
            hold.
    """
    request = Request(recipe=load(order.recipe), order=order, machine=machine)
    recipe, target, notes = request.recipe, request.target, request.notes
    torch = request.torch if recipe.needs_torch else None
    _existing_wheel(request)
    _target(request)
    source = choose_source(request)
    release = source.release
    found = tools.choose(request, source.version, release)
    toolkit = found.toolkit
    compiled = tuple(map(tools.capability, found.tokens))
    cpp = (toolchain("cpp", torch.version) or "17") if torch else None
    if cpp:
        notes.because("C++", cpp, "what the headers of this torch need", "--nvcc-flag")
    steps = (release and release.steps) or recipe.work.files
    count, memory = jobs.choose(
        recipe.memory,
        machine.resources,
        notes,
        files=steps,
        at_once=recipe.work.at_once,
        asked=order.jobs,
    )
    cores = machine.resources.cores
    seconds = jobs.seconds(recipe.work, len(compiled), jobs=count, cores=cores, files=steps)
    downloads = sum(p.size or 0 for p in toolkit.parts) if toolkit else 0
    disk = jobs.disk(recipe.work, len(compiled), downloads)
    layout = _folder(request, source, found, disk)
    if toolkit and toolkit.parts:
        toolkit = replace(toolkit, path=str(layout.cuda))
    local = _local_version(request)
    on = request.circumstances(source.version, toolkit.version if toolkit else None, cpp)
    cxx = _flags(request, on, "cxx")
    rows = [v for v in recipe.variables if v.holds(on)]
    words = {"jobs": count, "extensions": _EXTENSIONS if steps and count >= steps else 1}
    variables = {row.name: row.value.format(**words) for row in rows}
    if recipe.arch and found.tokens and recipe.arch.reads_variable(on.version):
        variables[recipe.arch.variable] = recipe.arch.separator.join(found.tokens)
    if nvcc := [*_flags(request, on, "nvcc"), *order.nvcc_flags]:
        variables[_NVCC_FLAGS] = " ".join([*variables.get(_NVCC_FLAGS, "").split(), *nvcc])
    if cxx and recipe.cxx_variable:
        variables[recipe.cxx_variable] = " ".join(cxx)
    needed = triton.needs(request, release) if recipe.name == _TRITON else {}
    pins = machine.checkout.pins if machine.checkout else None
    return BuildPlan(
        recipe=recipe.name,
        distribution=recipe.distribution,
        version=source.version,
        source=source.source,
        root=str(layout.root),
        target=target.executable,
        runtime=machine.runtime if machine.venv is False else None,
        python=target.version or "",
        windows=request.windows,
        torch=torch.version if torch else None,
        torch_cuda=torch.cuda if torch else None,
        wheel=machine.wheel,
        archs=compiled,
        cuda=toolkit,
        toolset=found.toolset,
        cpp_standard=cpp,
        edits=tuple(_edits(recipe, on, cxx, required=source.source.kind == "sdist")),
        jobs=count,
        memory=memory,
        disk_bytes=disk,
        seconds=seconds,
        compile_steps=steps,
        environment=command.checked({**command.planned(layout, toolkit), **needed, **variables}),
        path=command.folders_of(toolkit, windows=request.windows),
        job_variables=tuple(row.name for row in rows if row.value == "{jobs}"),
        extension_variables=tuple(row.name for row in rows if row.value == "{extensions}"),
        requirements=(
            *recipe.requirements,
            *(release.requirements if release else ()),
            *(pins.requirements if pins else ()),
        ),
        command=tuple(word.replace("{dist}", str(layout.dist)) for word in recipe.command),
        local_version=local,
        imports=recipe.imports,
        extension=recipe.extension,
        rungs=recipe.rungs,
        decisions=tuple(notes.reasons),
        warnings=tuple(notes.warnings),
        refusals=tuple(notes.refusals),
    )


def _existing_wheel(request: Request) -> None:
    """A wheel that fits makes the build needless."""
    found, notes = request.machine.wheel, request.notes
    if found is None:
        return
    if not found.file:
        why = "; ".join(found.in_short()) or "no source names one"
        notes.because("wheel", "none fits", why, "--anyway")
        notes.warnings += found.notes  # one without a hash, a list that could not be read
        return
    notes.because("wheel", found.file, f"from {found.source}", "--anyway")
    notes.refuse(
        f"a wheel that fits exists: {found.file}",
        f'Install it: tritonwin install {found.package} --python "{request.target.executable}"; '
        "or build all the same: --anyway",
    )


def _target(request: Request) -> None:
    """Refuse a target that cannot build; warn of what is not known of the machine."""
    machine, recipe, torch, notes = request.machine, request.recipe, request.torch, request.notes
    python, dev = request.target.executable, request.facts.python_dev
    install = f'Install it: tritonwin install torch --python "{python}"'
    fix = f'Put it there: tritonwin fix --python "{python}"'
    if recipe.needs_torch and torch is None:
        message = f"{recipe.name} is built against torch, and {python} has none"
        notes.refuse(message, install, "build-isolation-hides-torch")
    elif recipe.needs_cuda and torch is not None and torch.cuda is None:
        notes.refuse(f"torch {torch.version} is built without CUDA", install, "cpu-only-torch")
    if dev is not None and dev.headers is None:
        notes.refuse(f"{python} has no Python.h", fix, "embedded-python-no-headers")
    elif dev is not None and request.windows and dev.import_library is None:
        message = f"{python} has no import library (libs\\python3XX.lib)"
        notes.refuse(message, fix, "python-libs-not-found-venv-uv")
    if machine.venv is False and machine.runtime is not None:
        why = "this Python has no venv, and runs from any folder"
        notes.because("environment", f"a copy of {machine.runtime}", why, "--python")
    elif machine.venv is False:
        notes.refuse(
            f"{python} can make no environment to build in: it has no module venv",
            "Use a full Python of the same version, with the same torch: --python EXE",
        )
    if machine.elsewhere:
        notes.warnings.append(
            "planned from a snapshot: all memory counts as free, and the disk as large enough; "
            "commands are for the machine in question"
        )


# --- the version, and the origin of its source


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


def choose_source(request: Request) -> SourceOrigin:
    """The source that was named, else the release that was asked for, else the one that fits best.

    Raises:
        UserError: no source, or no release of the recipe, was named.
    """
    recipe, order, notes = request.recipe, request.order, request.notes
    if order.source is not None:
        origin = _named(request, order.source)
    elif not recipe.releases:
        raise UserError(
            f"{recipe.name} has no source of its own",
            f"Name it: tritonwin build {recipe.name} --source DIR",
        )
    elif order.ref is not None:
        source = _source(recipe, "git", recipe.repository, ref=order.ref)
        version = order.version or recipe.releases[0].version
        origin = SourceOrigin(version=version, source=source, why=f"the ref {order.ref}, asked for")
    else:
        origin = _release(request)
    source = origin.source
    where = f"{source.location} {source.ref or ''}".strip()
    flags = "--version, --source, --ref"
    notes.because("source", f"{origin.version} from {where}", origin.why, flags)
    needed = "needed" if source.kind == "git" else "not needed"
    notes.because(
        "git", needed, "it fetches a commit of a repository, and nothing else", "--source"
    )
    git_is_here = request.machine.elsewhere or request.host.executables("git")
    if source.kind == "git" and not git_is_here:
        notes.refuse(*NO_GIT)
    if source.kind == "folder":
        folder = Path(source.location)
        if empty := [s for s in recipe.submodules if not any((folder / s).glob("*"))]:
            notes.refuse(
                f"the submodule {', '.join(empty)} of {folder} is not there",
                f'Fetch it: git -C "{folder}" submodule update --init {" ".join(empty)}',
            )
    return origin


def _source(recipe: Recipe, kind: SourceKind, location: str, **more: Any) -> BuildSource:
    submodules = recipe.submodules if kind == "git" else ()
    skip = (*(NOT_COPIED if kind == "folder" else ()), *recipe.skip)
    return BuildSource(kind=kind, location=location, submodules=submodules, skip=skip, **more)


def _release(request: Request) -> SourceOrigin:
    """The release that was asked for, that this torch wants, or the newest."""
    recipe, order, torch = request.recipe, request.order, request.torch
    found, why = recipe.releases[0], "the newest that the recipe knows"
    if order.version is not None:
        asked = recipe.release(order.version)
        if asked is None:
            raise UserError(
                f"the recipe {recipe.name} has no version {order.version}",
                f"It has {', '.join(r.version for r in recipe.releases)}. "
                "Another one: --source DIR, or --ref TAG",
            )
        found, why = asked, "asked for"
    elif not recipe.needs_torch and torch and (wanted := wanted_series(torch)):
        # a branch has no series
        fitting = [r for r in recipe.releases if series(r.version) == wanted]
        if fitting:
            found, why = fitting[0], f"torch {torch.version} wants Triton {wanted}"
    kind: SourceKind = "git" if found.ref else "sdist"
    where = recipe.repository if found.ref else found.file or ""
    place = {"ref": found.ref, "sha256": found.sha256, "subfolder": found.subfolder}
    source = _source(recipe, kind, where, **place)
    return SourceOrigin(version=found.version, source=source, release=found, why=why)


def _named(request: Request, named: str) -> SourceOrigin:
    """The folder, the archive or the repository that was named."""
    order, checkout, recipe = request.order, request.machine.checkout, request.recipe
    file = Path(named)
    local = checkout is not None or is_file(file)
    bare = re.sub(r"//[\w.-]+@", "//", named, count=1)  # as ADDRESS allows a user of ssh alone
    plain = hide_secrets(bare) == bare and _ARCHIVE not in named
    address = not local and plain and ADDRESS.fullmatch(named) is not None
    if order.ref is not None and (local or is_folder(file)):
        raise UserError(
            f"--ref names a commit of a repository, and {named} is taken as it is",
            "Check it out there, or give its address: --source file:///...",
        )
    if checkout is not None:
        version = order.version or checkout.version or "0"
        source = _source(recipe, "folder", str(file.absolute()), subfolder=checkout.subfolder)
        known, why = recipe.release(version), f"asked for, version {version}"
        return SourceOrigin(version=version, source=source, release=known, why=why)
    if address:
        source = _source(recipe, "git", named, ref=order.ref)
        return SourceOrigin(version=order.version or "0", source=source)
    if not (named.endswith(_ARCHIVE) and local):
        raise UserError(
            f"{without_secrets(named).rpartition('@')[2]} cannot be built: it is no folder with a "
            f"setup.py, no {_ARCHIVE} file, no address of a repository without a login or token",
            "Name one of them: --source; fetch an archive by hand. git has logins from its "
            "credential helper, or ssh's keys.",
        )
    release = next((r for r in recipe.releases if r.file == file.name), None)
    held = {"sha256": release.sha256, "subfolder": release.subfolder} if release else {}
    source = _source(recipe, "sdist", str(file.absolute()), **held)
    version = order.version or (release.version if release else "0")
    return SourceOrigin(version=version, source=source, release=release)


# --- the folder


def _folder(request: Request, source: SourceOrigin, found: Tools, disk: int) -> Layout:
    """The build folder, the same for the same inputs, so that a build can be resumed.

    Short, of ASCII, on a disk with room; only programs of Windows have these limits, and blanks.

    Args:
        disk: bytes that the build needs.
    """
    target, torch = request.target, request.torch
    inputs = (
        source.version,
        source.source.location,
        source.source.ref or "",
        target.executable,
        target.version or "",
        torch.version if torch else "",
        found.toolkit.version if found.toolkit else "",
        found.toolset.version if found.toolset else "",
        ",".join(map(tools.capability, found.tokens)),
        "offline" if request.order.offline else "",
    )
    key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:8]
    join = (ntpath if request.windows else posixpath).join
    layout = Layout(join(request.parent, f"{request.recipe.name}-{key}"), windows=request.windows)
    short = "short and of ASCII, for paths of at most 260 characters"
    why = short if request.windows else "tritonwin's own data"
    why = "asked for" if request.order.root else why
    request.notes.because("folder", str(layout.root), why, "--root")
    root, free, against = str(layout.root), request.machine.disk_free, []
    if free is not None and free < disk:
        needs = f"and the build needs about {disk / GIB:.1f}"
        against.append(("", f"has {free / GIB:.1f} GiB free, {needs}"))
    if not request.windows and " " in root:
        against.append(("", "has a blank, which the build's makefiles cut in two"))
    if request.windows and not root.isascii():
        against.append(("", "is not ASCII: nvcc and ninja fail there on some code pages"))
    if request.windows and root.startswith("\\\\"):
        against.append(("", "is on a server: cmd.exe cannot start there"))
    length = len(root) + 1 + request.recipe.longest_path
    limited = request.windows and request.facts.system.long_paths is not True
    if limited and length > _PATH_LIMIT:
        limit = "and Windows' limit of 260 is in force"
        against.append(("build-path-too-long", f"makes paths of {length} characters, {limit}"))
    for problem, message in against:
        request.notes.refuse(
            f"the build folder {root} {message}",
            "Name another one with --root: short, of ASCII, no blank, on a local disk with room",
            problem,
        )
    return layout


# --- variables


def _local_version(request: Request) -> str:
    """The label "cu130torch2.11", as makers of public Windows wheels write it."""
    torch = request.torch
    if not request.recipe.needs_torch or torch is None or torch.cuda is None:
        return ""
    named = f"cu{torch.cuda.replace('.', '')}torch{series(torch.version) or torch.version}"
    return _OTHER.sub(".", named[:_LONGEST]).strip(".")


def _flags(request: Request, on: Circumstances, compiler: str) -> list[str]:
    """The recipe's flags for a compiler, each with its reason."""
    found = [flag for flag in request.recipe.flags if flag.compiler == compiler and flag.holds(on)]
    for flag in found:
        option = "--nvcc-flag" if compiler == "nvcc" else ""
        request.notes.because(f"{compiler} flag", flag.value, flag.why, option)
    return [flag.value for flag in found]


def _edits(
    recipe: Recipe, on: Circumstances, cxx: Iterable[str], *, required: bool
) -> Iterator[SourceEdit]:
    items = "".join(f', "{word}"' for value in cxx for word in value.split())
    for row in recipe.edits:
        if row.holds(on):
            new = row.replace.replace("{cpp}", on.cpp or "17").replace("{cxx_flags}", items)
            yield SourceEdit(
                file=row.file, find=row.find, replace=new, reason=row.why, required=required
            )
