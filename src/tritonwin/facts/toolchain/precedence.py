"""Tools in the order in which a program looks for them: the first that will do is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tritonwin.facts.records import Compiler, CudaToolkit, MsvcToolset, WindowsSdk
from tritonwin.system.files import same_place

Found = TypeVar("Found")
Tool = TypeVar("Tool", Compiler, CudaToolkit, MsvcToolset, WindowsSdk)


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
