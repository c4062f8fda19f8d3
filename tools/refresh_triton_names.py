#!/usr/bin/env python3
"""Write `problems/explain/triton_names.toml`: the names that a torch needs and a Triton lacks.

    python tools/refresh_triton_names.py

The sources of upstream's Triton and of torch are read from the wheels on the package index that pip
is configured for, by ranges of bytes, into the lane's cache. Nothing of them is run. For Triton:
modules, what a module offers (star imports resolved), attributes of classes, parameters of
functions. For torch: what it imports from Triton or reads of its modules where nothing catches the
error, and the attribute names and keyword arguments in the files that speak of Triton.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from winlane.cache import Cache
from winlane.upstream import Upstream

from tritonwin.problems.explain import pair
from tritonwin.system import toml

FILE = Path(pair.__file__).with_name("triton_names.toml")
_READ: dict[str, Any] = toml.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_HEAD = """\
# The names of Triton that some torch asks for and some Triton lacks: under the series of torch
# that ask, the series of Triton with which they stop. Written by tools/refresh_triton_names.py
# from the wheels on the package index; do not edit it.
"""
_CATCHES = {"ImportError", "Exception", "BaseException", "AttributeError"}
_IMPORT_LINE = re.compile(r"from (triton[\w.]*) import ([\w, ]+)")
# Classes whose objects torch and applications hold, by the folder of their module
_OBJECTS = ("triton.backends", "triton.compiler", "triton.runtime")

Name = tuple[str, str]  # module and name in it
# the sections of the table, with the forms of their keys
_SECTIONS = {
    "modules": "{}", "names": "{}:{}", "attributes": "{}.{}", "parameters": "{}({})",
    "dataclasses": "{}",
}  # fmt: skip


@dataclass
class Api:
    """The names of one Triton."""

    modules: set[str] = field(default_factory=set)
    names: dict[str, set[str]] = field(default_factory=dict)
    attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    parameters: dict[str, set[str]] = field(default_factory=dict)  # "**": takes every keyword
    dataclasses: set[str] = field(default_factory=set)

    def has(self, module: str, name: str) -> bool:
        return name in self.names.get(module, ())


@dataclass
class Uses:
    """The needs of one torch."""

    # what the first branch of a `try` wanted, where the name stands in a handler
    names: dict[Name, set[tuple[Name, ...]]] = field(default_factory=lambda: defaultdict(set))
    fields: set[str] = field(default_factory=set)  # classes that must be dataclasses
    attributes: set[str] = field(default_factory=set)
    keywords: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # by callee


def fetched(name: str, version: str) -> Path:
    """The Python files of a wheel."""
    starts = tuple(_READ["torch_folders"]) if name == "torch" else ("triton/",)

    def wanted(member: str) -> bool:
        return member.endswith(".py") and member.startswith(starts)

    upstream = Upstream(Cache.open())
    return upstream.part(
        f"{name}=={version}", "3.11", _READ["platforms"][name], wanted, recipe="names"
    )


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, those in branches included."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With)):
                yield from statements(getattr(node, part, []))
        for handler in getattr(node, "handlers", []):
            yield from statements(handler.body)


def source_of(package: str, node: ast.ImportFrom) -> str:
    """The absolute name of the module that `from X import` reads."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def read_triton(root: Path) -> Api:
    """The names that the Triton in the folder `root` offers."""
    reader = _TritonReader()
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        reader.read(module, is_package, ast.parse(file.read_text("utf-8")))
    return reader.finished()


class _TritonReader:
    """Collects names module by module, and joins star imports and base classes at the end."""

    def __init__(self) -> None:
        self._api = Api()
        self._own: dict[str, set[str]] = defaultdict(set)
        self._stars: dict[str, set[str]] = defaultdict(set)
        self._exported: dict[str, set[str]] = {}
        # a kernel's metadata is a named tuple made of a dict and of the options
        self._bases: dict[str, set[str]] = defaultdict(set, KernelMetadata={"CUDAOptions"})

    def read(self, module: str, is_package: bool, tree: ast.Module) -> None:
        parent, _, last = module.rpartition(".")
        self._api.modules.add(module)
        self._own[parent].add(last)
        for node in statements(tree.body):
            self._own[module] |= set(_bound(node))
            if isinstance(node, ast.ImportFrom):
                self._read_import(module, source_of(module if is_package else parent, node), node)
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                self._exported[module] = set(_texts(node.value))
            elif isinstance(node, ast.FunctionDef) and _public(module):
                self._api.parameters[node.name] = _parameters(node.args)
        if module.startswith(_OBJECTS):
            for part in ast.walk(tree):
                self._read_object(part)

    def _read_import(self, module: str, source: str, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self._stars[module].add(source)
            elif source.split(".")[0] == "triton":
                self._own[module].add(alias.asname or alias.name)

    def _read_object(self, part: ast.AST) -> None:
        if isinstance(part, ast.ClassDef):
            _read_class(part, self._api)
            self._bases[part.name] |= {ast.unparse(b).rpartition(".")[2] for b in part.bases}
        elif (
            isinstance(part, ast.Subscript)
            and isinstance(part.ctx, ast.Store)
            and ast.unparse(part.value) == "metadata"
        ):
            self._api.attributes["KernelMetadata"] |= set(_texts(part.slice))

    def finished(self) -> Api:
        api = self._api
        api.names = {module: self._offers(module, frozenset()) for module in api.modules}
        api.attributes = {name: self._inherited(name, frozenset()) for name in api.attributes}
        return api

    def _offers(self, module: str, seen: frozenset[str]) -> set[str]:
        found = set(self._own[module])
        for source in self._stars[module] - seen:
            names = self._offers(source, seen | {module})
            found |= self._exported.get(source, {n for n in names if not n.startswith("_")})
        return found

    def _inherited(self, name: str, seen: frozenset[str]) -> set[str]:
        found = set(self._api.attributes.get(name, ()))
        for base in self._bases[name] - seen:
            found |= self._inherited(base, seen | {name})
        return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def _texts(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _parameters(arguments: ast.arguments) -> set[str]:
    named = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return (named | ({"**"} if arguments.kwarg else set())) - {"self"}


def _read_class(node: ast.ClassDef, api: Api) -> None:
    attributes = api.attributes[node.name]
    for part in node.body:
        attributes |= set(_bound(part))
        if isinstance(part, ast.FunctionDef):
            api.parameters[f"{node.name}.{part.name}"] = _parameters(part.args)
            attributes |= {
                n.attr
                for n in ast.walk(part)
                if isinstance(n, ast.Attribute)
                and isinstance(n.ctx, ast.Store)
                and ast.unparse(n.value) == "self"
            }
    if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
        api.dataclasses.add(node.name)
        fields = {n for p in node.body if isinstance(p, ast.AnnAssign) for n in _bound(p)}
        api.parameters.setdefault(f"{node.name}.__init__", fields)


class _UseReader(ast.NodeVisitor):
    """Collects what a file of torch needs of Triton."""

    def __init__(self, uses: Uses) -> None:
        self._uses = uses
        self._local: dict[str, str] = {}  # local name to Triton's module or name
        self._guarded: list[set[str] | None] = []  # names that are asked for first; None: all
        self._first_try: tuple[Name, ...] = ()  # what failed before a handler runs

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.If, ast.IfExp, ast.Match)):
            self._branch(node)
        else:
            super().visit(node)

    def visit_Try(self, node: ast.Try) -> None:
        caught = any(h.type is None or _CATCHES.intersection(_names(h.type)) for h in node.handlers)
        if caught:
            tried = _UseReader(Uses())
            tried.visit_all(node.body)
            self._visit_guarded(node.body, None)
            before, self._first_try = self._first_try, tuple(sorted(tried._uses.names))
            self.visit_all(node.handlers)
            self._first_try = before
        else:
            self.visit_all([*node.body, *node.handlers])
        self.visit_all([*node.orelse, *node.finalbody])

    def visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _visit_guarded(self, nodes: Sequence[ast.AST], names: set[str] | None) -> None:
        self._guarded.append(names)
        self.visit_all(nodes)
        self._guarded.pop()

    def _branch(self, node: ast.If | ast.IfExp | ast.Match) -> None:
        test = node.subject if isinstance(node, ast.Match) else node.test
        text = ast.unparse(test)
        asks = set(_texts(test)) if "hasattr" in text else set()
        children = list(ast.iter_child_nodes(node))
        self._visit_guarded(children, None if "version" in text.lower() else asks)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring needs nothing
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):  # code that torch writes
            for module, names in _IMPORT_LINE.findall(node.value):
                for name in names.split(","):
                    self._need(module, name.split(" as ")[0].strip())

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] == "triton":
                self._local[alias.asname or "triton"] = alias.name if alias.asname else "triton"
                self._need(*alias.name.rpartition(".")[::2])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if not node.level and module.split(".")[0] == "triton":
            for alias in node.names:
                self._need(module, alias.name)
                self._local[alias.asname or alias.name] = f"{module}.{alias.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        base = ast.unparse(node.value).split(".")
        if module := self._local.get(base[0]):
            self._need(".".join([module, *base[1:]]), node.attr)
        elif not self._is_guarded(node.attr) and not any("knobs" in b for b in base):
            self._uses.attributes.add(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        callee = ast.unparse(node.func).rpartition(".")[2]
        self._uses.keywords[callee] |= {k.arg for k in node.keywords if k.arg}
        if callee == "fields" and node.args:
            name = self._local.get(ast.unparse(node.args[0]), "")
            self._uses.fields.add(name.rpartition(".")[2])
        self.generic_visit(node)

    def _is_guarded(self, name: str) -> bool:
        return any(names is None or name in names for names in self._guarded)

    def _need(self, module: str, name: str) -> None:
        if module and not self._is_guarded(name):
            self._uses.names[(module, name)].add(self._first_try)


def _names(node: ast.expr) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id


def read_torch(root: Path) -> Uses:
    """The needs of the torch in the folder `root`."""
    uses = Uses()
    for file in sorted(root.rglob("*.py")):
        text = file.read_text("utf-8")
        if "triton" in text:
            _UseReader(uses).visit(ast.parse(text))
    return uses


def series_of(version: str) -> str:
    return ".".join(version.split(".")[:2])


def stops(
    uses: Uses, api: Api, offered: Mapping[str, set[tuple[str, ...]]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Sections and keys at which a torch stops with a Triton; `offered` by any Triton."""
    for (module, name), ways in uses.names.items():
        if all(_all_there(api, first) for first in ways):
            continue
        if module not in api.modules:
            yield "modules", (module,)
        elif not api.has(module, name):
            yield "names", (module, name)
    for owner, name in offered["attributes"]:
        known = api.attributes.get(owner)
        if known is not None and name in uses.attributes - known and not name.startswith("__"):
            yield "attributes", (owner, name)
    for function, name in offered["parameters"]:
        callee = function.removesuffix(".__init__").rpartition(".")[2]
        known = api.parameters.get(function)
        asked = name in uses.keywords.get(callee, ()) and not (function + name).startswith("_")
        if asked and known is not None and not {name, "**"} & known:
            yield "parameters", (function, name)
    for name in uses.fields & api.attributes.keys() - api.dataclasses:
        yield "dataclasses", (name,)


def table(tritons: Mapping[str, Api], torches: Mapping[str, Uses]) -> str:
    """The text of triton_names.toml, from the series of both, oldest first."""
    apis = tritons.values()
    offered: dict[str, set[tuple[str, ...]]] = {
        "modules": {(m,) for api in apis for m in api.modules},
        "names": {(m, n) for api in apis for m, names in api.names.items() for n in names},
        "attributes": {
            (c, n) for api in apis for c, names in api.attributes.items() for n in names
        },
        "parameters": {
            (f, n) for api in apis for f, names in api.parameters.items() for n in names
        },
    }
    found: dict[tuple[str, tuple[str, ...]], dict[str, list[str]]] = defaultdict(
        partial(defaultdict, list)
    )
    for torch, uses in torches.items():
        for triton, api in tritons.items():
            for section, key in set(stops(uses, api, offered)):
                if key in offered.get(section, {key}):
                    found[section, key][torch].append(triton)
    lines = [_HEAD]
    for section, form in _SECTIONS.items():
        lines += ["", f"[{section}]"]
        for of, key in sorted(found):
            if of == section:
                by_triton: dict[str, list[str]] = defaultdict(list)
                for torch, bad in found[of, key].items():
                    by_triton[" ".join(bad)].append(torch)
                pairs = (f'"{" ".join(these)}" = "{bad}"' for bad, these in by_triton.items())
                lines.append(f'"{form.format(*key)}" = {{ {", ".join(pairs)} }}')
    return "\n".join(lines) + "\n"


def _all_there(api: Api, names: Iterable[Name]) -> bool:
    """True if the first branch of a `try` works, so that its handler never runs."""
    names = list(names)
    return bool(names) and all(api.has(*name) for name in names)


def _public(module: str) -> bool:
    parts = module.split(".")
    return not any(p.startswith("_") for p in parts) and any(
        module == p or (p != "triton" and module.startswith(f"{p}.")) for p in _READ["public"]
    )


def main() -> None:
    tritons = {
        series_of(version): read_triton(fetched("triton", version)) for version in _READ["triton"]
    }
    torches = {
        series_of(version): read_torch(fetched("torch", version)) for version in _READ["torch"]
    }
    FILE.write_text(table(tritons, torches), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
