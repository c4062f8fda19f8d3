#!/usr/bin/env python3
"""Figures of the source: how large it is, and how much of it stands alone.

    python tools/house.py [CHECKOUT] [--list]

Prints lines and shares of docstrings and comments for each tree. For src/tritonwin also: lines by
room, modules with a single importer, modules of at most 50 lines, public class names that occur
twice, files called model.py. `--list` names the modules too.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TREES = ("src/tritonwin", "encoder", "tools", "benchmarks", "tests")
SHORT = 50  # lines


@dataclass(frozen=True)
class Module:
    """A file of Python; `name` is "tritonwin.cli.app"."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def longest(self) -> int:
        return max(map(len, self.text.splitlines()), default=0)

    @property
    def docstring_lines(self) -> int:
        count = 0
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node, clean=False)
                count += 0 if text is None else text.count("\n") + 1
        return count

    @property
    def comment_lines(self) -> int:
        """Lines that hold nothing but a comment."""
        with self.path.open("rb") as stream:
            return sum(
                token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
                for token in tokenize.tokenize(stream.readline)
            )

    def imported(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def public_classes(self) -> Iterator[str]:
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def modules(folder: Path) -> list[Module]:
    paths = (p for p in sorted(folder.rglob("*.py")) if ".venv" not in p.parts)
    names = ((p, p.relative_to(folder.parent).with_suffix("").parts) for p in paths)
    return [Module(".".join(parts).removesuffix(".__init__"), p) for p, parts in names]


def single_importers(found: Sequence[Module]) -> list[str]:
    """Modules, packages aside, that exactly one other module imports."""
    importers: dict[str, set[str]] = defaultdict(set)
    for module in found:
        for name in module.imported():
            importers[name].add(module.name)
    return [
        module.name
        for module in found
        if module.path.name != "__init__.py" and len(importers[module.name] - {module.name}) == 1
    ]


def main(args: Sequence[str]) -> int:
    places = [word for word in args if not word.startswith("-")]
    root = Path(places[0] if places else Path(__file__).parent.parent).resolve()
    print("| tree | modules | lines | docstrings | comments | longest line |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for tree in TREES:
        if found := modules(root / tree):
            lines = sum(module.lines for module in found)
            shares = (
                sum(module.docstring_lines for module in found) / lines,
                sum(module.comment_lines for module in found) / lines,
            )
            shown = (tree, len(found), f"{lines:,}", *(f"{share:.1%}" for share in shares))
            print(f"| {' | '.join(map(str, shown))} | {max(m.longest for m in found)} |")
    package = modules(root / "src" / "tritonwin")
    rooms = Counter[str]()
    classes: dict[str, list[str]] = defaultdict(list)
    for module in package:
        rooms[module.name.split(".")[1] if "." in module.name else module.name] += module.lines
        for name in module.public_classes():
            classes[name].append(module.name)
    short = [m.name for m in package if m.lines <= SHORT and m.path.name != "__init__.py"]
    single = single_importers(package)
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    records = [m.name for m in package if m.path.name == "model.py"]
    print("\n" + ", ".join(f"{room} {lines:,}" for room, lines in rooms.most_common()))
    for what, listed in (
        ("modules with a single importer", single),
        (f"modules of at most {SHORT} lines", short),
        ("files called model.py", records),
        (
            "public class names that occur twice",
            [f"{name}: {', '.join(places)}" for name, places in twice.items()],
        ),
    ):
        print(f"{what}: {len(listed)}")
        if "--list" in args:
            print("".join(f"    {line}\n" for line in listed), end="")
    print(f"classes: {sum(map(len, classes.values()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
