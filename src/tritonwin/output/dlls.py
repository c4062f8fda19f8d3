"""The DLL tree of a file, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from tritonwin.facts.dlls.tree import BAD, DllTree, Fault, Module, PlaceKind, faults
from tritonwin.output.blocks import Block, Prose, Span, TextLine, Tone, line
from tritonwin.output.documents import Document


@dataclass(frozen=True, kw_only=True)
class DllsReport(Document):
    """The document of `tritonwin dlls`: the tree, and what keeps the file from being loaded."""

    schema: Literal["tritonwin.dlls/3"] = "tritonwin.dlls/3"
    loads: bool
    faults: tuple[Fault, ...]
    file: str
    tree: DllTree


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
_STEP = 3  # characters from a module to those that it needs


def report(tree: DllTree) -> DllsReport:
    found = faults(tree)
    return DllsReport(file=tree.modules[0].path or "", tree=tree, loads=not found, faults=found)


def of_dlls(report: DllsReport) -> Iterator[Block]:
    """Each module once, below the first that needs it; then what is wrong and what helps."""
    tree = report.tree
    head = f"{report.file}, {_LOADERS[tree.loader]}"
    python = f" ({tree.python})" if tree.python else ""
    root = tree.modules[0]
    yield line(head + python, "strong")
    yield _line(root)
    yield from _below(root, tree, {root.name.lower()}, 1)
    yield from _faults(report)


def _below(module: Module, tree: DllTree, shown: set[str], depth: int) -> Iterator[TextLine]:
    for need in module.needs:
        found = tree.module(need.dll)
        key = need.dll.lower()
        if found is None or key in shown or found.state == "api-set":
            continue
        shown.add(key)
        yield _line(found, delayed=need.delayed, indent=_STEP * depth)
        yield from _below(found, tree, shown, depth + 1)


def _line(module: Module, *, delayed: bool = False, indent: int = 0) -> TextLine:
    place = ""
    if module.found_in and module.found_in != "named":
        place = _PLACES[module.found_in].format(folder=PurePath(module.path or "").parent)
    facts = [
        module.version or "",
        f"{module.bits} bit" if module.bits else "",
        "" if module.state == "found" else module.state,
        "at the first call" if delayed else "",
        place,
        "python.exe has loaded it before" if place and module.preloaded else "",
    ]
    tone: Tone = "bad" if module.state in BAD else "plain"
    details = Span("  " + ", ".join(filter(None, facts)), "faint")
    return line(module.name, tone, details, indent=indent)


def _faults(report: DllsReport) -> Iterator[Block]:
    tree, found = report.tree, report.faults
    sets = sum(m.state == "api-set" for m in tree.modules)
    yield line(f"{len(tree.modules)} files, {sets} of them names that Windows maps (not shown).")
    if not found:
        yield line("Everything that it needs to load is there.")
    for fault in found:
        yield TextLine()
        yield line(f"error: {fault.text}", "bad")
        if fault.lacking:
            yield Prose(f"lacks {', '.join(fault.lacking)}", most=2)
        yield Prose(fault.help, label="help: ")
    if any(fault.path is None for fault in found):
        yield from map(Prose, _unseen(tree))


def _unseen(tree: DllTree) -> Iterator[str]:
    """Places that were not searched, where a missing file may lie."""
    of_python = tree.loader == "python" or tree.modules[0].name.lower().endswith(".pyd")
    if of_python and tree.python is None:
        yield "There is no Python around the file: name the one that loads it with --python."
    if not tree.system_known:
        yield "There is no System32 to look into: what is missing here may be there on the machine."
