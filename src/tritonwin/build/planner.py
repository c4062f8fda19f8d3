"""The plan of a build: every choice with its reason, and what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import (
    compiler_cache,
    environment,
    estimate,
    local_version,
    memory,
    obstacles,
    origin,
    place,
    settings,
    tables,
    tools,
    triton,
)
from tritonwin.build.compiler_cache import CompilerCache
from tritonwin.build.layout import Layout
from tritonwin.build.memory import Jobs
from tritonwin.build.model import BuildPlan, Decision, Refusal, ToolkitChoice
from tritonwin.build.order import Machine, Order
from tritonwin.build.origin import Origin
from tritonwin.build.recipe import Circumstances, Recipe, load
from tritonwin.build.settings import Settings
from tritonwin.build.tools import Tools
from tritonwin.build.triton import TritonNeeds
from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter

_TRITON = "triton"


@dataclass(frozen=True, kw_only=True)
class _Choices:
    """Everything that is decided, before it becomes a plan."""

    recipe: Recipe
    target: Interpreter
    source: Origin
    tools: Tools
    toolkit: ToolkitChoice | None
    jobs: Jobs
    root: str
    cpp: str | None
    local: str
    settings: Settings
    triton: TritonNeeds
    disk: int
    cache: CompilerCache

    @property
    def archs(self) -> tuple[str, ...]:
        return self.tools.archs.archs if self.tools.archs else ()


def plan(order: Order, machine: Machine) -> BuildPlan:
    """Make the plan. It says itself whether it can be carried out: `BuildPlan.possible`.

    Raises:
        UserError: no target, no such recipe, version or source, or a value that no variable can
            hold.
    """
    recipe, target = load(order.recipe), machine.facts.target
    if target is None or target.version is None:
        raise UserError("there is no Python to build for", "Name it: --python EXE")
    source = origin.choose(recipe, order, machine)
    found = tools.choose(recipe, order, machine, source)
    above = place.parent(order.root, machine)
    root = _root(recipe, order, machine, source, found, above)
    toolkit = _placed(found.toolkit, Layout(root=Path(root)))
    local = local_version.choose(recipe, order, machine)
    cpp = _cpp(recipe, order, machine)
    jobs = _jobs(recipe, order, machine, source, found)
    is_triton = recipe.name == _TRITON
    cached = toolkit if order.compiler_cache and recipe.needs_torch else None
    on = _circumstances(machine, source, toolkit, cpp)
    return _plan(
        _Choices(
            recipe=recipe,
            target=target,
            source=source,
            tools=found,
            toolkit=toolkit,
            jobs=jobs,
            root=root,
            cpp=cpp,
            local=local,
            settings=_settings(recipe, order, on, source, found, jobs, local),
            triton=triton.needs(order, machine, source.release, above)
            if is_triton
            else TritonNeeds(),
            cache=compiler_cache.choose(cached, machine.host, root),
            disk=_disk(recipe, found, toolkit),
        ),
        order,
        machine,
    )


def _settings(
    recipe: Recipe,
    order: Order,
    on: Circumstances,
    source: Origin,
    found: Tools,
    jobs: Jobs,
    local: str,
) -> Settings:
    return settings.choose(
        recipe,
        on,
        archs=found.archs,
        jobs=jobs.jobs,
        threads=jobs.threads,
        local=local,
        nvcc_flags=order.nvcc_flags,
        own_source=source.source.kind != "sdist",
    )


def _disk(recipe: Recipe, found: Tools, toolkit: ToolkitChoice | None) -> int:
    downloads = sum(part.size or 0 for part in toolkit.parts) if toolkit else 0
    return estimate.disk(recipe.work, len(found.archs.archs) if found.archs else 0, downloads)


def _plan(chosen: _Choices, order: Order, machine: Machine) -> BuildPlan:
    recipe, jobs, torch = chosen.recipe, chosen.jobs, machine.facts.torch
    release, work, archs = chosen.source.release, recipe.work, len(chosen.archs)
    steps = release.steps if release else None
    return BuildPlan(
        recipe=recipe.name,
        distribution=recipe.distribution,
        version=chosen.source.version,
        source=chosen.source.source,
        root=chosen.root,
        target=chosen.target.executable,
        python=chosen.target.version or "",
        windows=machine.host.windows,
        torch=torch.version if torch and recipe.needs_torch else None,
        torch_cuda=torch.cuda if torch and recipe.needs_torch else None,
        wheel=machine.wheel,
        archs=chosen.archs,
        cuda=chosen.toolkit,
        toolset=chosen.tools.toolset.choice,
        cpp_standard=chosen.cpp,
        flags=chosen.settings.flags,
        edits=chosen.settings.edits,
        jobs=jobs.jobs,
        nvcc_threads=jobs.threads,
        memory=jobs.memory,
        disk_bytes=chosen.disk,
        seconds=estimate.seconds(
            work,
            archs,
            jobs=jobs.jobs,
            threads=jobs.threads,
            cores=machine.resources.cores,
            files=steps,
        ),
        cpu_seconds=estimate.cpu_seconds(work, archs),
        compile_steps=steps,
        environment=_environment(chosen, machine),
        path=environment.folders_of(chosen.toolkit, windows=machine.host.windows),
        unset=environment.cleared(windows=machine.host.windows),
        job_variables=chosen.settings.job_variables,
        requirements=(*recipe.requirements, *(release.requirements if release else ())),
        downloads=chosen.triton.downloads,
        command=tuple(w.replace("{dist}", str(_layout(chosen).dist)) for w in recipe.command),
        local_version=chosen.local,
        imports=recipe.imports,
        extension=recipe.extension,
        start_first=recipe.start_first,
        rungs=recipe.rungs,
        decisions=_decisions(chosen, order, machine),
        warnings=(*jobs.warnings, *chosen.triton.warnings, *obstacles.warnings(order, machine)),
        refusals=_refusals(chosen, order, machine),
    )


def _environment(chosen: _Choices, machine: Machine) -> dict[str, str]:
    windows = machine.host.windows
    return environment.checked(
        {
            **environment.planned(_layout(chosen), chosen.toolkit, windows=windows),
            **chosen.triton.environment,
            **chosen.settings.environment,
            **chosen.cache.environment,
        }
    )


def _refusals(chosen: _Choices, order: Order, machine: Machine) -> tuple[Refusal, ...]:
    recipe = chosen.recipe
    return (
        *obstacles.of_target(recipe, order, machine),
        *chosen.source.refusals,
        *chosen.tools.refusals,
        *chosen.jobs.refusals,
        *place.refusals(chosen.root, recipe.longest_path, machine),
        *place.too_small(chosen.disk, machine.disk_free, chosen.root),
        *chosen.triton.refusals,
    )


def _decisions(chosen: _Choices, order: Order, machine: Machine) -> tuple[Decision, ...]:
    cpp = "asked for" if order.cpp else "what the headers of this torch need"
    return (
        *obstacles.wheel(machine),
        chosen.source.decision,
        obstacles.git(chosen.source.source),
        *obstacles.login(chosen.source.source),
        *chosen.tools.decisions,
        *(
            (Decision(name="C++", value=chosen.cpp, reason=cpp, flag="--cpp-standard"),)
            if chosen.cpp
            else ()
        ),
        *chosen.jobs.decisions,
        place.decision(chosen.root, order.root, machine),
        *chosen.settings.decisions,
        *chosen.triton.decisions,
        *chosen.cache.decisions,
    )


def _layout(chosen: _Choices) -> Layout:
    return Layout(root=Path(chosen.root))


def _circumstances(
    machine: Machine, source: Origin, toolkit: ToolkitChoice | None, cpp: str | None
) -> Circumstances:
    torch = machine.facts.torch
    return Circumstances(
        version=source.version,
        torch=torch.version if torch else None,
        cuda=toolkit.version if toolkit else None,
        cpp=cpp,
        windows=machine.host.windows,
    )


def _root(
    recipe: Recipe, order: Order, machine: Machine, source: Origin, found: Tools, above: str
) -> str:
    target, torch, compiler = machine.facts.target, machine.facts.torch, found.toolset.choice
    return place.folder(
        recipe.name,
        above,
        source.version,
        source.source.location,
        source.source.ref,
        target.executable if target else "",
        target.version if target else "",
        torch.version if torch else "",
        found.toolkit.version if found.toolkit else "",
        compiler.version if compiler else "",
        ",".join(found.archs.archs) if found.archs else "",
        "offline" if order.offline else "",
        windows=machine.host.windows,
    )


def _placed(toolkit: ToolkitChoice | None, layout: Layout) -> ToolkitChoice | None:
    """The toolkit; one that is put together goes into the build folder."""
    if toolkit is None or not toolkit.parts:
        return toolkit
    return replace(toolkit, path=str(layout.cuda))


def _cpp(recipe: Recipe, order: Order, machine: Machine) -> str | None:
    torch = machine.facts.torch
    if not recipe.needs_torch or torch is None:
        return order.cpp
    return order.cpp or tables.cpp_standard(torch.version)


def _jobs(recipe: Recipe, order: Order, machine: Machine, source: Origin, found: Tools) -> Jobs:
    return memory.choose(
        recipe.memory,
        machine.resources,
        files=source.release.steps if source.release else None,
        archs=len(found.archs.archs) if found.archs else 0,
        jobs=order.jobs,
        threads=order.nvcc_threads,
        gib_per_job=order.gib_per_job,
    )
