"""The plan of a build: every choice with its reason, and what is against it."""

from __future__ import annotations

import hashlib
import ntpath
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from packaging.version import InvalidVersion, Version

from tritonwin.build import archs, command, jobs, origin, tools, triton
from tritonwin.build.jobs import Jobs
from tritonwin.build.order import BuildMachine, Order, Request
from tritonwin.build.origin import SourceOrigin
from tritonwin.build.plan import GIB, BuildPlan, Layout, Notes, SourceEdit, Toolkit
from tritonwin.build.recipe import Circumstances, Recipe, cpp_standard, load
from tritonwin.build.tools import Tools
from tritonwin.errors import UserError
from tritonwin.support.versions import series
from tritonwin.support.wheel_choice import FileSource

_TRITON = "triton"
_NVCC_FLAGS = "NVCC_APPEND_FLAGS"
_NVCC = "PYTORCH_NVCC"  # torch writes its value into the build file as nvcc's command
_EXTENSIONS = 4  # side by side, where all files fit at once
_PATH_LIMIT = 259  # characters of a path on Windows, the end of the string not counted
_OTHER = re.compile(r"[^A-Za-z0-9]+")
_LONGEST = 60  # characters of a local version; the wheel's name has to be one of a file


def plan(order: Order, machine: BuildMachine) -> BuildPlan:
    """Make the plan. It says itself whether it can be carried out: `BuildPlan.possible`.

    Raises:
        UserError: no target, no such recipe, version or source, or a value that no variable can
            hold.
    """
    notes = Notes()
    request = Request(recipe=load(order.recipe), order=order, machine=machine)
    recipe, target = request.recipe, request.target
    torch = request.torch if recipe.needs_torch else None
    _existing_wheel(request, notes)
    _target(request, notes)
    source = origin.choose(request, notes)
    found = tools.choose(request, source, notes)
    compiled = tuple(map(archs.capability, found.tokens))
    cpp = _cpp(request, notes)
    steps = (source.release and source.release.steps) or recipe.work.files
    compilers = jobs.choose(
        recipe.memory,
        machine.resources,
        notes,
        files=steps,
        at_once=recipe.work.at_once,
        archs=len(compiled),
        jobs=order.jobs,
        threads=order.nvcc_threads,
        gib_per_job=order.gib_per_job,
    )
    downloads = sum(p.size or 0 for p in found.toolkit.parts) if found.toolkit else 0
    disk = jobs.disk(recipe.work, len(compiled), downloads)
    layout = _folder(request, source, found, disk, notes)
    toolkit = found.toolkit
    if toolkit and toolkit.parts:
        toolkit = replace(toolkit, path=str(layout.cuda))
    local = _local_version(request)
    settings = choose_settings(
        recipe,
        request.circumstances(source.version, toolkit.version if toolkit else None, cpp),
        notes,
        tokens=found.tokens,
        jobs=compilers,
        files=steps,
        local=local,
        nvcc_flags=order.nvcc_flags,
        edits_required=source.source.kind == "sdist",
    )
    pins = machine.checkout.pins if machine.checkout else None
    needed: tuple[dict[str, str], tuple[FileSource, ...]] = {}, ()
    if recipe.name == _TRITON:
        needed = triton.needs(request, source.release, notes)
    cache = _compiler_cache(request, toolkit, notes)
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
        edits=settings.edits,
        jobs=compilers.jobs,
        nvcc_threads=compilers.threads,
        memory=compilers.memory,
        disk_bytes=disk,
        seconds=jobs.seconds(
            recipe.work,
            len(compiled),
            jobs=compilers.jobs,
            threads=compilers.threads,
            cores=machine.resources.cores,
            files=steps,
        ),
        compile_steps=steps,
        environment=command.checked(
            {**command.planned(layout, toolkit), **needed[0], **settings.environment, **cache}
        ),
        path=command.folders_of(toolkit, windows=request.windows),
        unset=command.cleared(windows=request.windows),
        job_variables=settings.job_variables,
        extension_variables=settings.extension_variables,
        requirements=(
            *recipe.requirements,
            *(source.release.requirements if source.release else ()),
            *(pins.requirements if pins else ()),
        ),
        downloads=needed[1],
        command=tuple(word.replace("{dist}", str(layout.dist)) for word in recipe.command),
        local_version=local,
        imports=recipe.imports,
        extension=recipe.extension,
        rungs=recipe.rungs,
        decisions=tuple(notes.reasons),
        warnings=tuple(notes.warnings),
        refusals=tuple(notes.refusals),
    )


def _existing_wheel(request: Request, notes: Notes) -> None:
    """A wheel that fits makes the build needless."""
    found = request.machine.wheel
    if found is None:
        return
    if not found.file:
        why = "; ".join(found.in_short()) or "no source names one"
        notes.because("wheel", "none fits", why, "--anyway")
        notes.warnings += found.notes  # one without a hash, a list that could not be read
        return
    notes.because("wheel", found.file, f"from {found.source}", "--anyway")
    if not request.order.anyway:
        python = request.target.executable
        notes.refuse(
            f"a wheel that fits exists: {found.file}",
            f'Install it: tritonwin install {found.package} --python "{python}"; '
            "or build all the same: --anyway",
        )


def _target(request: Request, notes: Notes) -> None:
    """Refuse a target that cannot build; warn of what this machine may get wrong."""
    machine, recipe, torch = request.machine, request.recipe, request.torch
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
    notes.warnings += _warnings(request)


def _warnings(request: Request) -> Iterator[str]:
    order = request.order
    if order.msvc and not request.windows:
        yield f"--msvc {order.msvc} is for Windows; here the variable CXX names the compiler"
    if request.machine.elsewhere:
        yield (
            "planned from a snapshot: all memory counts as free, and the disk as large enough; "
            "commands are for the machine in question"
        )
    for variable in request.facts.variables:
        if variable.scope == "process" and variable.flaws:
            flaws = ", ".join(variable.flaws)
            name = variable.name
            yield f"the variable {name} has a flaw ({flaws}); the build does not inherit it"
    if request.host.env.get("NVCC_PREPEND_FLAGS"):
        yield "NVCC_PREPEND_FLAGS is set, and nvcc obeys it"


def _cpp(request: Request, notes: Notes) -> str | None:
    value, why, torch = request.order.cpp, "asked for", request.torch
    if not value and torch is not None and request.recipe.needs_torch:
        value, why = cpp_standard(torch.version), "what the headers of this torch need"
    if value:
        notes.because("C++", value, why, "--cpp-standard")
    return value


# --- the folder


def _folder(
    request: Request, source: SourceOrigin, found: Tools, disk: int, notes: Notes
) -> Layout:
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
        ",".join(map(archs.capability, found.tokens)),
        "offline" if request.order.offline else "",
    )
    key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:8]
    join = (ntpath if request.windows else posixpath).join
    layout = Layout(join(request.parent, f"{request.recipe.name}-{key}"), windows=request.windows)
    short = "short and of ASCII, for paths of at most 260 characters"
    why = short if request.windows else "tritonwin's own data"
    notes.because("folder", str(layout.root), "asked for" if request.order.root else why, "--root")
    free = request.machine.disk_free
    against = list(_limits(layout.root, request))
    if free is not None and free < disk:
        needs = f"and the build needs about {disk / GIB:.1f}"
        against.append(("", f"has {free / GIB:.1f} GiB free, {needs}"))
    for problem, message in against:
        notes.refuse(
            f"the build folder {layout.root} {message}",
            "Name another one with --root: short, of ASCII, no blank, on a local disk with room",
            problem,
        )
    return layout


def _limits(folder: PurePath, request: Request) -> Iterator[tuple[str, str]]:
    root = str(folder)
    if not request.windows:
        if " " in root:
            yield "", "has a blank, which the build's makefiles cut in two"
        return
    if not root.isascii():
        yield "", "is not ASCII: nvcc and ninja fail there on some code pages"
    if root.startswith("\\\\"):
        yield "", "is on a server: cmd.exe cannot start there"
    length = len(root) + 1 + request.recipe.longest_path
    if length > _PATH_LIMIT and request.facts.system.long_paths is not True:
        limit = "and Windows' limit of 260 is in force"
        yield "build-path-too-long", f"makes paths of {length} characters, {limit}"


# --- variables


def _local_version(request: Request) -> str:
    """The requested label, or "cu130torch2.11", as makers of public Windows wheels write it.

    Raises:
        UserError: no wheel can be called so, which would come out hours later.
    """
    asked, torch = request.order.local_version, request.torch
    if asked is None:
        if not request.recipe.needs_torch or torch is None or torch.cuda is None:
            return ""
        named = f"cu{torch.cuda.replace('.', '')}torch{series(torch.version) or torch.version}"
        return _OTHER.sub(".", named[:_LONGEST]).strip(".")
    try:
        if len(asked) <= _LONGEST and Version(f"0+{asked}").local:
            return asked
    except InvalidVersion:
        pass
    raise UserError(
        f"{asked[:_LONGEST]!r} is not a valid local version",
        "Take letters, digits and dots: --local-version cu128torch2.9",
    )


def _compiler_cache(request: Request, toolkit: Toolkit | None, notes: Notes) -> dict[str, str]:
    """The variable by which the ccache on PATH answers for nvcc; empty where there is none.

    The C++ compiler is left alone: torch takes `ccache g++` for a compiler too old for CUDA.
    """
    cache = next(iter(request.host.executables("ccache")), None)
    if toolkit is None or not request.recipe.needs_torch or cache is None:
        return {}
    join = (ntpath if request.windows else posixpath).join
    command_line = f"{cache} {join(toolkit.path, 'bin', 'nvcc')}"
    if command_line.count(" ") > 1:
        notes.because("ccache", str(cache), "not used: the path of a program has a blank")
        return {}
    notes.because("ccache", str(cache), "it is on PATH; CCACHE_DISABLE=1 switches it off")
    return {_NVCC: command_line}


@dataclass(frozen=True, kw_only=True)
class RecipeSettings:
    """The recipe's rows whose conditions hold."""

    environment: dict[str, str]
    job_variables: tuple[str, ...]
    extension_variables: tuple[str, ...]
    edits: tuple[SourceEdit, ...]


def choose_settings(
    recipe: Recipe,
    on: Circumstances,
    notes: Notes,
    *,
    tokens: Sequence[str],
    jobs: Jobs,
    files: int | None = None,
    local: str,
    nvcc_flags: Sequence[str] = (),
    edits_required: bool,
) -> RecipeSettings:
    """Put the recipe's rows together.

    Args:
        tokens: the architectures, as words of the source.
        local: the local version of the wheel.
        nvcc_flags: the user's, behind all others.
        edits_required: an edit that finds nothing is an error; not in a source of the user.
    """
    rows = [row for row in recipe.variables if row.holds(on)]
    rows = [row for row in rows if local or "{local}" not in row.value]
    words = {
        "jobs": jobs.jobs,
        "threads": jobs.threads,
        "local": local,
        "extensions": _EXTENSIONS if files and jobs.jobs >= files else 1,
    }
    variables = {row.name: row.value.format(**words) for row in rows}
    if recipe.arch and tokens and recipe.arch.reads_variable(on.version):
        variables[recipe.arch.variable] = recipe.arch.separator.join(tokens)
    flags: dict[str, list[str]] = {"nvcc": [], "cxx": []}
    for flag in recipe.flags:
        if flag.holds(on):
            flags[flag.compiler].append(flag.value)
            option = "--nvcc-flag" if flag.compiler == "nvcc" else ""
            notes.because(f"{flag.compiler} flag", flag.value, flag.why, option)
    if nvcc := [*flags["nvcc"], *nvcc_flags]:
        variables[_NVCC_FLAGS] = " ".join([*variables.get(_NVCC_FLAGS, "").split(), *nvcc])
    if flags["cxx"] and recipe.cxx_variable:
        variables[recipe.cxx_variable] = " ".join(flags["cxx"])
    return RecipeSettings(
        environment=variables,
        job_variables=tuple(row.name for row in rows if row.value == "{jobs}"),
        extension_variables=tuple(row.name for row in rows if row.value == "{extensions}"),
        edits=tuple(_edits(recipe, on, flags["cxx"], required=edits_required)),
    )


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
