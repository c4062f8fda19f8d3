"""Bytes as edits of something real: so that a mutator gets past a parser."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import json
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import healthy
from triton_trees import sources

from tritonwin.patch import engine
from tritonwin.patch.edits import Source
from tritonwin.patch.rules import FILES, RULES
from tritonwin.system.codec import Json, to_json

VERSIONS = ("3.0.0", "3.3.1", "3.6.0", "3.8.0", "windows:3.5.1.post24")
# what stands where something else is expected
VALUES: tuple[Json, ...] = (
    *(
        "",
        " ",
        "0",
        "3.",
        "9" * 30,
        "x\ny",
        "\\\\?\\",
        "C:",
        "%PATH%",
        "a=b",
        "[",
        "+cu",
        "{x}",
        "é",
    ),
    *(None, True, -1, 0, 2**62, 0.5, [], {}),
)


class Bytes:
    """Numbers out of bytes; zeros where they end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def below(self, limit: int) -> int:
        """A number from 0 to `limit`, which it does not reach."""
        number = int.from_bytes(self._data[self._at : self._at + 2], "little")
        self._at += 2
        return number % limit if limit else 0

    def take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        self._at += count
        return part


def edited_facts(data: bytes) -> Any:
    """The facts of a healthy machine as a tree, with values replaced, repeated or left out."""
    read = Bytes(data)
    text, places = _healthy()
    tree: Any = json.loads(text)
    for _ in range(8):
        if not read:
            break
        *above, key = places[read.below(len(places))]
        how = read.below(len(VALUES) + 4)
        new = read.take(6).decode("utf-8", "replace") if how > len(VALUES) + 1 else ""
        with contextlib.suppress(LookupError, TypeError):  # an earlier edit took the place away
            holder = functools.reduce(operator.getitem, above, tree)
            if how < len(VALUES):
                holder[key] = copy.deepcopy(VALUES[how])
            elif how == len(VALUES):
                del holder[key]
            elif how == len(VALUES) + 1 and isinstance(holder[key], list):
                holder[key] = copy.deepcopy(holder[key]) * 2
            else:
                holder[key] = new
    return tree


@functools.cache
def _healthy() -> tuple[str, list[list[Any]]]:
    """The facts as text, which is faster to copy, and the way to each value."""
    tree = to_json(healthy.HEALTHY)
    return json.dumps(tree), list(_places(tree, []))


def _places(tree: Any, above: list[Any]) -> Iterator[list[Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield [*above, key]
        if isinstance(value, (dict, list)):
            yield from _places(value, [*above, key])


@functools.cache
def originals() -> tuple[tuple[str, str], ...]:
    """Name and text of what the rules are about, of several releases."""
    return tuple(
        (file, thinned(file, path.read_text("utf-8")))
        for version in VERSIONS
        for file in FILES
        if (path := sources(version) / file).is_file()
    )


def thinned(file: str, text: str) -> str:
    """A module without the statements that no rule needs: most of it, and of the time it takes."""
    if not file.endswith(".py"):
        return text
    expected, gone = verdicts(file, text), []
    groups = [list(_statements(ast.parse(text).body))]
    while groups:
        group = groups.pop()
        if verdicts(file, _without(text, [*gone, *group])) == expected:
            gone += group
        elif len(group) > 1:
            middle = len(group) // 2
            groups += [group[:middle], group[middle:]]
    return _without(text, gone)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a module, and those of classes instead of the class."""
    for node in body:
        yield from _statements(node.body) if isinstance(node, ast.ClassDef) else [node]


def _without(text: str, statements: Iterable[ast.stmt]) -> str:
    lines = text.split("\n")
    for statement in sorted(statements, key=lambda each: -each.lineno):
        above = getattr(statement, "decorator_list", [])
        first = min(node.lineno for node in (statement, *above))
        lines[first - 1 : statement.end_lineno] = [" " * statement.col_offset + "pass"]
    return "\n".join(lines)


def verdicts(file: str, text: str) -> list[str]:
    """The states of the rules of a file, in their order."""
    return [
        engine.judge(rule, Source(text), "upstream").state for rule in RULES if rule.file == file
    ]


def edited_source(data: bytes) -> tuple[str, str]:
    """A module of Triton with lines moved, doubled, dropped, indented, or words exchanged."""
    read = Bytes(data)
    file, text = originals()[read.below(len(originals()))]
    lines = text.split("\n")
    for _ in range(12):
        if not read or not lines:
            break
        how, here, there = read.below(8), read.below(len(lines)), read.below(len(lines))
        line = lines[here]
        if how == 0:
            del lines[here]
        elif how == 1:
            lines.insert(there, line)
        elif how == 2:
            lines[here], lines[there] = lines[there], line
        elif how == 3:
            lines[here] = (" " * read.below(9)) + line.lstrip()
        elif how == 4:
            lines[here] = _exchanged(line, lines[there], read)
        elif how == 5:
            cut = read.below(len(line) + 1)
            lines[here] = line[:cut] + read.take(4).decode("utf-8", "replace") + line[cut:]
        elif how == 6:
            lines[here] = line[: read.below(len(line) + 1)]
        else:
            del lines[here : here + read.below(40)]
    return file, "\n".join(lines).replace("\r", "\n")


def _exchanged(line: str, other: str, read: Bytes) -> str:
    words, others = line.split(" "), other.split(" ")
    words[read.below(len(words))] = others[read.below(len(others))]
    return " ".join(words)
