#!/usr/bin/env python3
"""Write docs/seed-coverage.md: where each thing that the five first documents name has gone.

From tests/corpus/coverage/*.toml and, for the errors that they quote, tests/corpus/seeds.toml.
`gaps` says what leads nowhere; a test fails when it says anything, or when the page is stale.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tritonwin.build import recipe
from tritonwin.cli.app import COMMANDS
from tritonwin.facts.variables import known
from tritonwin.patch.rules import RULES
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue.reader import ACTIONS
from tritonwin.problems.checks import CHECKS
from tritonwin.system import toml
from tritonwin.verify import table

ROOT = Path(__file__).resolve().parent.parent
COVERAGE = ROOT / "tests" / "corpus" / "coverage"
SYMPTOMS = ROOT / "tests" / "corpus" / "seeds.toml"
PAGE = ROOT / "docs" / "seed-coverage.md"

KINDS = ("section", "fix", "symptom", "check", "step", "variable", "benchmark")


@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing that a document names.

    Attributes:
        leads_to: `kind:name`, see `exists`.
        done: how it was done, where that differs from what the document says.
        tests: `file::function`; those of `proof` for each kind of target come on top.
    """

    section: str
    kind: str
    what: str
    leads_to: Sequence[str]
    done: str = ""
    tests: Sequence[str] = ()
    quoted: bool = False  # an error text of seeds.toml, whose sections are finer than the headings


@dataclass(frozen=True, kw_only=True)
class Document:
    """One of the five. `sections` are its headings, in words of our own."""

    seed: str
    title: str
    sections: Sequence[str]
    items: Sequence[Item] = field(default_factory=tuple)


def read(path: Path) -> dict[str, Any]:
    return toml.loads(path.read_text("utf-8"))


def documents() -> tuple[Document, ...]:
    """The five documents with all items, those of seeds.toml among them."""
    symptoms = read(SYMPTOMS)["item"]
    found = []
    for path in sorted(COVERAGE.glob("[0-9]*.toml")):
        data = read(path)
        head = Document(**data["document"])
        quoted = [
            Item(
                section=item["section"],
                kind="symptom",
                what="the error text is explained",
                leads_to=[f"signature:{problem}" for problem in item["ids"]],
                tests=["tests/corpus/test_seeds.py::test_an_error_of_the_seeds_is_explained"],
                quoted=True,
            )
            for item in symptoms
            if item["seed"] == head.seed
        ]
        items = [Item(**item) for item in data["item"]] + quoted
        found.append(
            Document(seed=head.seed, title=head.title, sections=head.sections, items=items)
        )
    return tuple(found)


@cache
def proof() -> dict[str, str]:
    """For a kind of target the test that goes through all of them."""
    tests: dict[str, str] = read(COVERAGE / "proof.toml")["proof"]
    return tests


def tests_of(item: Item) -> list[str]:
    kinds = dict.fromkeys(target.partition(":")[0] for target in item.leads_to)
    return [*item.tests, *(proof()[kind] for kind in kinds if kind in proof())]


def exists(target: str) -> bool:
    """Whether `kind:name` is something that the product has."""
    kind, _, name = target.partition(":")
    if kind == "variable":
        return known(name) is not None
    if kind == "module":
        path = ROOT / "src" / name.replace(".", "/")
        return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
    if kind in ("page", "benchmark", "file"):
        return (ROOT / name).is_file()
    return name in _names().get(kind, ())


@cache
def _names() -> dict[str, frozenset[str]]:
    entries = catalogue.load().entries
    return {
        "check": frozenset(check.id for check in CHECKS),
        "signature": frozenset(e.id for e in entries.values() if e.signatures),
        "remedy": frozenset(ACTIONS),
        "rung": frozenset(rung.id for rung in table.load()),
        "rule": frozenset(rule.id for rule in RULES),
        "recipe": frozenset(recipe.names()),
        "command": frozenset(COMMANDS),
    }


@cache
def _functions(file: str) -> frozenset[str]:
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def gaps(document: Document) -> Iterator[str]:
    """What is missing: a section without an item, an item without a target or a test."""
    for section in document.sections:
        if not any(item.section == section for item in document.items if not item.quoted):
            yield f"{document.seed}: {section}: nothing stands for this section"
    for item in document.items:
        where = f"{document.seed}: {item.section}: {item.what}"
        if item.kind not in KINDS:
            yield f"{where}: unknown kind {item.kind!r}"
        if not item.quoted and item.section not in document.sections:
            yield f"{where}: no such section"
        if not item.leads_to:
            yield f"{where}: leads nowhere"
        if not tests_of(item):
            yield f"{where}: no test"
        yield from (f"{where}: no {target}" for target in item.leads_to if not exists(target))
        for test in tests_of(item):
            file, _, name = test.partition("::")
            if not name.startswith("test_") or name not in _functions(file):
                yield f"{where}: no test {test}"


_HEAD = """\
# What became of the first five documents

This page is written by `tools/write_seed_coverage.py` from `tests/corpus/coverage/`; do not edit
it.

tritonwin grew from five documents about Triton on Windows. Each section, fix, symptom, item of a
checklist, variable and benchmark of theirs leads to a check, a signature, a remedy, a rung of the
proof ladder, a rule of `patch`, a recipe of `build`, a command or a part of the library, and to the
tests that hold it. Where a document was wrong, or a better way was found, the row says what is done
instead. A test fails when anything leads nowhere.
"""


def page() -> str:
    """The page, as Markdown."""
    found = documents()
    total = sum(len(document.items) for document in found)
    lines = [_HEAD, f"{total} items in {len(found)} documents."]
    for document in found:
        lines += ["", f"## {document.seed}: {document.title}", ""]
        lines += ["| section | | what | leads to | tests |", "| --- | --- | --- | --- | --- |"]
        lines += [_row(item) for item in document.items]
    return "\n".join(lines) + "\n"


def _row(item: Item) -> str:
    what = f"{item.what} ({item.done})" if item.done else item.what
    targets = ", ".join(f"`{target}`" for target in item.leads_to)
    tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in tests_of(item))
    return f"| {item.section} | {item.kind} | {what} | {targets} | {tests} |"


def main() -> None:
    problems = [gap for document in documents() for gap in gaps(document)]
    if problems:
        sys.exit("\n".join(problems))
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    print(PAGE.name)


if __name__ == "__main__":
    main()
