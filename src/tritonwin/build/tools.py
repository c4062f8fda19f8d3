"""Toolkit, compiler and architectures: chosen together, for each limits the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tritonwin.build import archs, cuda, toolset
from tritonwin.build.archs import Archs
from tritonwin.build.model import Decision, Refusal, ToolkitChoice
from tritonwin.build.order import Machine, Order
from tritonwin.build.origin import Origin
from tritonwin.build.recipe import Recipe
from tritonwin.build.toolset import Toolset
from tritonwin.support.versions import fits

_FLAG = "--cuda"


@dataclass(frozen=True, kw_only=True)
class Tools:
    """A toolkit with the compiler and the architectures that go with it."""

    toolkit: ToolkitChoice | None
    toolset: Toolset
    archs: Archs | None
    decisions: tuple[Decision, ...]
    refusals: tuple[Refusal, ...]


def choose(recipe: Recipe, order: Order, machine: Machine, source: Origin) -> Tools:
    """The best toolkit with which everything goes; the best one with its refusals where none."""
    if not recipe.needs_cuda:
        return _with(recipe, order, machine, source, None)
    torch = machine.facts.torch
    torch_cuda = torch.cuda if torch else None
    found = machine.facts.cuda_toolkits
    first: Tools | None = None
    for toolkit in cuda.candidates(
        found,
        torch_cuda=torch_cuda,
        asked=order.cuda,
        root=Path(),
        windows=machine.host.windows,
    ):
        tools = _with(recipe, order, machine, source, toolkit)
        if not tools.refusals:
            return tools
        first = first or tools
    if first:
        return first
    none = cuda.refusal(found, torch_cuda, order.cuda, windows=machine.host.windows)
    tools = _with(recipe, order, machine, source, None)
    decision = Decision(name="CUDA", value="none", reason=none.message, flag=_FLAG)
    return replace(tools, decisions=(decision, *tools.decisions), refusals=(none, *tools.refusals))


def _with(
    recipe: Recipe,
    order: Order,
    machine: Machine,
    source: Origin,
    toolkit: ToolkitChoice | None,
) -> Tools:
    version = toolkit.version if toolkit else None
    gpus = [g.compute_capability for g in machine.facts.gpus if g.vendor == "nvidia"]
    chosen_archs = archs.choose(
        recipe,
        source.version,
        version,
        gpus=[gpu for gpu in gpus if gpu],
        asked=order.archs,
        windows=machine.host.windows,
    )
    compiler = _compiler(recipe, order, machine, toolkit)
    return Tools(
        toolkit=toolkit,
        toolset=compiler,
        archs=chosen_archs,
        decisions=(
            *_toolkit_decision(toolkit, machine),
            compiler.decision,
            *((chosen_archs.decision,) if chosen_archs else ()),
        ),
        refusals=(
            *_too_old(recipe, source, version),
            *compiler.refusals,
            # without a toolkit nothing can be said of architectures
            *(chosen_archs.refusals if chosen_archs and toolkit else ()),
        ),
    )


def _compiler(
    recipe: Recipe, order: Order, machine: Machine, toolkit: ToolkitChoice | None
) -> Toolset:
    version = toolkit.version if toolkit else None
    if not machine.host.windows:
        return toolset.choose_gcc(machine.host, version)
    return toolset.choose_msvc(
        machine.facts.msvc,
        cuda=version,
        accepts=toolkit.msvc if toolkit else "",
        wants=recipe.msvc,
        asked=order.msvc,
    )


def _toolkit_decision(toolkit: ToolkitChoice | None, machine: Machine) -> Sequence[Decision]:
    if toolkit is None:
        return ()
    torch = machine.facts.torch
    where = "put together from the package index" if toolkit.parts else f"in {toolkit.path}"
    reason = cuda.reason(toolkit, torch.cuda if torch else None)
    return (Decision(name="CUDA", value=f"{toolkit.version} {where}", reason=reason, flag=_FLAG),)


def _too_old(recipe: Recipe, source: Origin, cuda_version: str | None) -> Sequence[Refusal]:
    wants = source.release.cuda if source.release else ""
    if not wants or cuda_version is None or fits(cuda_version, wants):
        return ()
    return (
        Refusal(
            problem=cuda.PROBLEM,
            message=f"{recipe.name} {source.version} wants CUDA {wants}, this is {cuda_version}",
            help="Name another toolkit (--cuda) or another version (--version).",
        ),
    )
