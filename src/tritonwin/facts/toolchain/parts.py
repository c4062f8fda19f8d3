"""The parts of tools (`parts.toml`), and the tool that a program would choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from tritonwin.facts.records import Compiler, CudaToolkit, MsvcToolset, WindowsSdk
from tritonwin.system.files import same_place
from tritonwin.system.toml import read_resource

Found = TypeVar("Found")
Tool = TypeVar("Tool", Compiler, CudaToolkit, MsvcToolset, WindowsSdk)


@dataclass(frozen=True, kw_only=True)
class ToolParts:
    """Files of a tool: those that Triton asks for, and those that builds need besides."""

    asked: tuple[str, ...]
    others: tuple[str, ...]
    activation: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        return self.asked + self.others


@dataclass(frozen=True, kw_only=True)
class CudaParts:
    """Names of the parts of a CUDA toolkit, and their files by layout."""

    kernel: tuple[str, ...]
    build: tuple[str, ...]
    programs: tuple[str, ...]
    prefix: dict[str, tuple[str, ...]]
    wheels: dict[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class PartTable:
    """The content of `parts.toml`."""

    msvc: ToolParts
    sdk: ToolParts
    cuda: CudaParts


@cache
def parts() -> PartTable:
    """The shipped table."""
    return read_resource("tritonwin.facts.toolchain", "parts.toml", PartTable)


def in_order(
    candidates: Iterable[Found],
    place: Callable[[Found], Path],
    describe: Callable[[Found], Tool],
    fits: Callable[[Found, Tool], bool],
) -> tuple[Tool, ...]:
    """The tool of every candidate, each place once; the first that fits is chosen."""
    unique: dict[str, Found] = {}
    for found in candidates:
        unique.setdefault(same_place(place(found)), found)
    tools: list[Tool] = []
    taken = False
    for found in unique.values():
        tool = describe(found)
        take = not taken and fits(found, tool)
        tools.append(replace(tool, chosen=True) if take else tool)
        taken = taken or take
    return tuple(tools)
