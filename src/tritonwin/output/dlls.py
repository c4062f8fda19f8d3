"""The DLL tree of a file, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tritonwin.facts.dlls.loading import Loading
from tritonwin.facts.dlls.tree import BAD, DllTree, Fault, Module, PlaceKind, faults
from tritonwin.output.documents import ToolInfo
from tritonwin.output.terminal import console, say, wrapped
from tritonwin.output.text import printable


@dataclass(frozen=True, kw_only=True)
class DllsReport:
    """The document of `tritonwin dlls`: the tree, and what keeps the file from being loaded."""

    schema: Literal["tritonwin.dlls/2"] = "tritonwin.dlls/2"
    tool: ToolInfo
    loads: bool
    faults: tuple[Fault, ...]
    loading: Loading


_LOADERS = {
    "python": "as Python loads a compiled module",
    "program": "as a program that is started",
    "dll": "as a DLL that no Python here loads",
}
_PLACES: Mapping[PlaceKind, str] = {
    "file": "beside the file",
    "program": "beside python.exe",
    "prefix": "in Python's folder",
    "library": "in Library\\bin, which torch and conda add",
    "torch": "in torch\\lib, which torch adds",
    "nvidia": "in a wheel of NVIDIA's, whose folder the packages that need it add",
    "libs": "in {folder}, which its package adds",
    "CUDA_PATH": "in CUDA_PATH, which torch adds",
    "system32": "in System32",
    "path": "in {folder}, which is on PATH",
}
_SHOWN_FUNCTIONS = 3


def report(loading: Loading) -> DllsReport:
    found = faults(loading.tree)
    return DllsReport(tool=ToolInfo(), loading=loading, loads=loading.tree.loads, faults=found)


def print_tree(loading: Loading) -> None:
    """Each module once, below the first that needs it; then what is wrong and what helps."""
    out = console()
    head = f"{loading.file}, {_LOADERS[loading.loader]}"
    head += f" ({loading.python})" if loading.python else ""
    say(out, head, "bold")
    tree = loading.tree
    root = tree.modules[0]
    shown = {root.name.lower()}
    branches = Tree(_line(root), guide_style="dim")
    _grow(branches, root, tree, shown)
    out.print(branches, soft_wrap=True)
    _print_faults(out, loading)


def _grow(branch: Tree, module: Module, tree: DllTree, shown: set[str]) -> None:
    for need in module.needs:
        found = tree.module(need.dll)
        key = need.dll.lower()
        if found is None or key in shown or found.state == "api-set":
            continue
        shown.add(key)
        _grow(branch.add(_line(found, delayed=need.delayed)), found, tree, shown)


def _line(module: Module, *, delayed: bool = False) -> Text:
    style = "bold red" if module.state in BAD else ""
    line = Text(printable(module.name), style)
    facts = [
        module.version or "",
        f"{module.bits} bit" if module.bits else "",
        "" if module.state == "found" else module.state,
        "at the first call" if delayed else "",
        _place(module),
    ]
    line.append(printable("  " + ", ".join(filter(None, facts))), "dim")
    return line


def _place(module: Module) -> str:
    if module.found_in is None or module.found_in == "named":
        return ""
    text = _PLACES[module.found_in].format(folder=PurePath(module.path or "").parent)
    return f"{text}; python.exe has loaded it before" if module.preloaded else text


def _print_faults(out: Console, loading: Loading) -> None:
    tree = loading.tree
    found = faults(tree)
    sets = sum(m.state == "api-set" for m in tree.modules)
    out.print(f"{len(tree.modules)} files, {sets} of them names that Windows maps (not shown).")
    if not found:
        out.print("Everything that it needs to load is there.")
    for fault in found:
        _print_fault(out, fault)
    if any(fault.path is None for fault in found):
        for note in _unseen(loading):
            wrapped(out, note)


def _unseen(loading: Loading) -> Iterator[str]:
    """Places that were not searched, where a missing file may lie."""
    of_python = loading.loader == "python" or loading.file.lower().endswith(".pyd")
    if of_python and loading.python is None:
        yield "There is no Python around the file: name the one that loads it with --python."
    if not loading.tree.system_known:
        yield "There is no System32 to look into: what is missing here may be there on the machine."


def _print_fault(out: Console, fault: Fault) -> None:
    out.print()
    say(out, f"error: {fault.text}", "bold red")
    if fault.lacking:
        names = ", ".join(fault.lacking[:_SHOWN_FUNCTIONS])
        more = len(fault.lacking) - _SHOWN_FUNCTIONS
        wrapped(out, f"lacks {names}" + (f" and {more} more" if more > 0 else ""))
    wrapped(out, f"help: {fault.help}")
