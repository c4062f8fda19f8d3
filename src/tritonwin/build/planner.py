"""The plan of a build: every choice with its reason, and what is against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tritonwin.build import choices, command, jobs, origin, tools, triton
from tritonwin.build.archs import Archs
from tritonwin.build.jobs import Jobs
from tritonwin.build.order import BuildMachine, Order, Request
from tritonwin.build.origin import SourceOrigin
from tritonwin.build.plan import BuildPlan, Layout, SourceEdit, Toolkit
from tritonwin.build.recipe import Circumstances, Recipe, RecipeFlag, cpp_standard, load
from tritonwin.build.tools import Tools
from tritonwin.build.triton import TritonNeeds
from tritonwin.support.choice import Choice, Reason

_TRITON = "triton"
_NVCC_FLAGS = "NVCC_APPEND_FLAGS"


def plan(order: Order, machine: BuildMachine) -> BuildPlan:
    """Make the plan. It says itself whether it can be carried out: `BuildPlan.possible`.

    Raises:
        UserError: no target, no such recipe, version or source, or a value that no variable can
            hold.
    """
    request = Request(recipe=load(order.recipe), order=order, machine=machine)
    recipe, torch, target = request.recipe, request.torch, request.target
    source = origin.choose(request)
    found = tools.choose(request, source.value)
    release, archs = source.value.release, found.value.archs
    steps = release.steps if release else None
    downloads = sum(p.size or 0 for p in found.value.toolkit.parts) if found.value.toolkit else 0
    disk = jobs.disk(recipe.work, len(archs.archs), downloads)
    folder = choices.folder(request, *_inputs(request, source.value, found.value), disk=disk)
    layout = folder.value
    toolkit = _placed(found.value.toolkit, layout)
    cpp = _cpp(request)
    compilers = jobs.choose(
        recipe.memory,
        machine.resources,
        files=steps,
        archs=len(archs.archs),
        jobs=order.jobs,
        threads=order.nvcc_threads,
        gib_per_job=order.gib_per_job,
    )
    local = choices.local_version(request)
    version = source.value.version
    on = request.circumstances(version, toolkit.version if toolkit else None, cpp.value)
    settings = choose_settings(
        recipe,
        on,
        archs=archs,
        jobs=compilers.value,
        local=local,
        nvcc_flags=order.nvcc_flags,
        edits_required=source.value.source.kind == "sdist",
    )
    needs = Choice(value=TritonNeeds())
    if recipe.name == _TRITON:
        needs = triton.needs(request, release)
    cache = choices.compiler_cache(request, toolkit, layout)
    made: tuple[Choice[object], ...] = (
        choices.existing_wheel(request),
        choices.target(request),
        source,
        found,
        cpp,
        compilers,
        folder,
        settings,
        needs,
        cache,
    )
    return BuildPlan(
        recipe=recipe.name,
        distribution=recipe.distribution,
        version=version,
        source=source.value.source,
        root=str(layout.root),
        target=target.executable,
        python=target.version or "",
        windows=request.windows,
        torch=torch.version if torch and recipe.needs_torch else None,
        torch_cuda=torch.cuda if torch and recipe.needs_torch else None,
        wheel=machine.wheel,
        archs=archs.archs,
        cuda=toolkit,
        toolset=found.value.toolset,
        cpp_standard=cpp.value,
        edits=settings.value.edits,
        jobs=compilers.value.jobs,
        nvcc_threads=compilers.value.threads,
        memory=compilers.value.memory,
        disk_bytes=disk,
        seconds=jobs.seconds(
            recipe.work,
            len(archs.archs),
            jobs=compilers.value.jobs,
            threads=compilers.value.threads,
            cores=machine.resources.cores,
            files=steps,
        ),
        compile_steps=steps,
        environment=command.checked(
            {
                **command.planned(layout, toolkit),
                **needs.value.environment,
                **settings.value.environment,
                **cache.value,
            }
        ),
        path=command.folders_of(toolkit, windows=request.windows),
        unset=command.cleared(windows=request.windows),
        job_variables=settings.value.job_variables,
        requirements=(*recipe.requirements, *(release.requirements if release else ())),
        downloads=needs.value.downloads,
        command=tuple(word.replace("{dist}", str(layout.dist)) for word in recipe.command),
        local_version=local,
        imports=recipe.imports,
        extension=recipe.extension,
        start_first=recipe.start_first,
        rungs=recipe.rungs,
        decisions=tuple(reason for choice in made for reason in choice.reasons),
        warnings=tuple(warning for choice in made for warning in choice.warnings),
        refusals=tuple(refusal for choice in made for refusal in choice.refusals),
    )


def _inputs(request: Request, source: SourceOrigin, found: Tools) -> tuple[str, ...]:
    """Everything that makes it another build, which then gets a folder of its own."""
    target, torch = request.target, request.torch
    return (
        source.version,
        source.source.location,
        source.source.ref or "",
        target.executable,
        target.version or "",
        torch.version if torch else "",
        found.toolkit.version if found.toolkit else "",
        found.toolset.version if found.toolset else "",
        ",".join(found.archs.archs),
        "offline" if request.order.offline else "",
    )


def _placed(toolkit: Toolkit | None, layout: Layout) -> Toolkit | None:
    """The toolkit; one that is assembled goes into the build folder."""
    if toolkit is None or not toolkit.parts:
        return toolkit
    return replace(toolkit, path=str(layout.cuda))


def _cpp(request: Request) -> Choice[str | None]:
    asked, torch = request.order.cpp, request.torch
    if asked or torch is None or not request.recipe.needs_torch:
        value, why = asked, "asked for"
    else:
        value, why = cpp_standard(torch.version), "what the headers of this torch need"
    if value is None:
        return Choice(value=None)
    return Choice(
        value=value,
        reasons=(Reason(name="C++", value=value, reason=why, flag="--cpp-standard"),),
    )


# --- from a recipe's conditions to the variables, flags and edits of one build


@dataclass(frozen=True, kw_only=True)
class RecipeSettings:
    """The recipe's rows whose conditions hold."""

    environment: dict[str, str]
    job_variables: tuple[str, ...]
    edits: tuple[SourceEdit, ...]


def choose_settings(
    recipe: Recipe,
    on: Circumstances,
    *,
    archs: Archs,
    jobs: Jobs,
    local: str,
    nvcc_flags: Sequence[str] = (),
    edits_required: bool,
) -> Choice[RecipeSettings]:
    """Put the recipe's rows together.

    Args:
        local: the local version of the wheel.
        nvcc_flags: the user's, behind all others.
        edits_required: an edit that finds nothing is an error; not in a source of the user.
    """
    rows = [row for row in recipe.variables if row.holds(on)]
    rows = [row for row in rows if local or "{local}" not in row.value]
    flags = [flag for flag in recipe.flags if flag.holds(on)]
    words = {"jobs": jobs.jobs, "threads": jobs.threads, "local": local}
    variables = {row.name: row.value.format(**words) for row in rows}
    if recipe.arch and archs.tokens and recipe.arch.reads_variable(on.version):
        variables[recipe.arch.variable] = recipe.arch.separator.join(archs.tokens)
    nvcc = [*_values(flags, "nvcc"), *nvcc_flags]
    if nvcc:
        variables[_NVCC_FLAGS] = " ".join([*variables.get(_NVCC_FLAGS, "").split(), *nvcc])
    cxx = _values(flags, "cxx")
    if cxx and recipe.cxx_variable:
        variables[recipe.cxx_variable] = " ".join(cxx)
    return Choice(
        value=RecipeSettings(
            environment=variables,
            job_variables=tuple(row.name for row in rows if row.value == "{jobs}"),
            edits=tuple(_edits(recipe, on, cxx, required=edits_required)),
        ),
        reasons=tuple(map(_flag_reason, flags)),
    )


def _flag_reason(flag: RecipeFlag) -> Reason:
    option = "--nvcc-flag" if flag.compiler == "nvcc" else ""
    return Reason(name=f"{flag.compiler} flag", value=flag.value, reason=flag.why, flag=option)


def _values(flags: Iterable[RecipeFlag], compiler: str) -> list[str]:
    return [flag.value for flag in flags if flag.compiler == compiler]


def _edits(
    recipe: Recipe, on: Circumstances, cxx: Sequence[str], *, required: bool
) -> Iterable[SourceEdit]:
    items = "".join(f', "{word}"' for value in cxx for word in value.split())
    for row in recipe.edits:
        if row.holds(on):
            new = row.replace.replace("{cpp}", on.cpp or "17").replace("{cxx_flags}", items)
            yield SourceEdit(
                file=row.file, find=row.find, replace=new, reason=row.why, required=required
            )
