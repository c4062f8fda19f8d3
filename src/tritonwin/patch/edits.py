"""The tools of rules: find a place by structure, and splice text there.

Places in Python are found in the syntax tree and edited as text, so that comments and format
stay; places in C are lines of exact text that must occur an exact number of times.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Literal, NoReturn, TypeVar

Node = TypeVar("Node", bound=ast.AST)


class NoEdit(Exception):  # noqa: N818 - not an error: the answer of a rule that has nothing to do
    """A rule does not edit this text.

    Attributes:
        state: "fixed": the place works on Windows; "absent": there is no such place;
            "unknown": the place has a form that the rule does not know.
    """

    def __init__(self, state: Literal["fixed", "absent", "unknown"], reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


def fixed(reason: str) -> NoReturn:
    raise NoEdit(state="fixed", reason=reason)


def absent(reason: str) -> NoReturn:
    raise NoEdit(state="absent", reason=reason)


def unknown(reason: str) -> NoReturn:
    raise NoEdit(state="unknown", reason=reason)


class Source:
    """A source text with `\\n` line ends, and its syntax tree when a rule asks for it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _parsed(self) -> tuple[ast.Module, str]:
        """The syntax tree, and the parser's message for a text that is not Python."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of somebody else's escapes and literals
                return ast.parse(self.text), ""
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return ast.Module([], []), str(error) or type(error).__name__

    @property
    def fault(self) -> str:
        """The parser's message for a text that is not Python, else ""."""
        return self._parsed[1]

    @property
    def tree(self) -> ast.Module:
        """Raises NoEdit for a text that is no Python."""
        if self.fault:
            unknown(f"it does not parse: {self.fault}")
        return self._parsed[0]

    @cached_property
    def lines(self) -> list[str]:
        """With their line ends. To the parser nothing but `\\n` ends one, to `splitlines` much."""
        return [f"{line}\n" for line in self.text.split("\n")[:-1]] + self.text.split("\n")[-1:]

    @cached_property
    def _starts(self) -> list[int]:
        starts, position = [], 0
        for line in self.lines:
            starts.append(position)
            position += len(line)
        return [*starts, position]

    def start_of(self, line: int) -> int:
        """The offset of a line, counted from 1."""
        return self._starts[line - 1]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The offsets of a node in the text: start, end."""
        assert node.end_lineno is not None  # noqa: S101 - set by the parser
        assert node.end_col_offset is not None  # noqa: S101
        return (
            self._position(node.lineno, node.col_offset),
            self._position(node.end_lineno, node.end_col_offset),
        )

    def _position(self, line: int, byte_column: int) -> int:
        before = self.lines[line - 1].encode("utf-8")[:byte_column]
        return self.start_of(line) + len(before.decode("utf-8"))

    def line_ends(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """The span of a node, to be followed by a comment; raises NoEdit where code follows it."""
        start, end = self.span(node)
        rest = self.text[end:].partition("\n")[0].strip()
        if rest and not rest.startswith("#"):
            unknown("a statement shares its line with what follows it")
        return start, end

    def segment(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    # -- finding

    def function(self, name: str) -> ast.FunctionDef:
        """As `find`; raises NoEdit if there is none."""
        found = self.find(name)
        return absent(f"there is no {name}") if found is None else found

    def find(self, name: str) -> ast.FunctionDef | None:
        """The function of that name, at the top or in a class."""
        if f"def {name}(" not in self.text:
            return None  # a parse takes a hundred times as long
        return next((function for function in self._functions if function.name == name), None)

    @cached_property
    def _functions(self) -> list[ast.FunctionDef]:
        tops = self.tree.body
        inside = (each for top in tops if isinstance(top, ast.ClassDef) for each in top.body)
        return [each for each in (*tops, *inside) if isinstance(each, ast.FunctionDef)]

    # -- editing

    def spliced(self, *changes: tuple[int, int, str]) -> str:
        """The text with each `start, end` replaced; the ranges do not overlap."""
        text = self.text
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text

    def before(self, statement: ast.stmt, code: str) -> str:
        """`code`, written without indentation, on lines of its own before a statement."""
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        start = self.start_of(min([statement.lineno, *(each.lineno for each in decorators)]))
        return self.spliced((start, start, indented(code, self.indent(statement))))

    def instead(self, statement: ast.stmt, code: str) -> str:
        """`code`, written without indentation, in the place of a statement's lines."""
        start, end = self.start_of(statement.lineno), self.line_ends(statement)[1]
        end += len(self.text[end:].partition("\n")[0]) + 1
        return self.spliced((start, end, indented(code, self.indent(statement))))

    def indent(self, statement: ast.stmt) -> str:
        """The indentation of a statement; raises NoEdit if it is not the first on its line."""
        above = self.lines[statement.lineno - 2] if statement.lineno > 1 else ""
        space = self.text[self.start_of(statement.lineno) : self.span(statement)[0]]
        if space.strip(" \t\f") or above.endswith("\\\n"):
            unknown("a statement shares its line with what comes before it")
        return space


def walk(node: ast.AST, kind: type[Node]) -> Iterator[Node]:
    """All nodes of a kind, in the order of the text."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, kind):
            yield child
        yield from walk(child, kind)


def calls(node: ast.AST, function: str) -> list[ast.Call]:
    """The calls of a function by its dotted name."""
    return [call for call in walk(node, ast.Call) if ast.unparse(call.func) == function]


def indented(code: str, space: str) -> str:
    lines = code.strip("\n").split("\n")
    return "".join(f"{space}{line}\n" if line else "\n" for line in lines)


def substituted(
    text: str, pattern: str, new: str | Callable[[re.Match[str]], str], times: int = 1
) -> str:
    """A multi-line expression replaced; raises NoEdit unless it is found exactly `times` times."""
    result, found = re.subn(pattern, new, text, flags=re.MULTILINE)
    if found != times:
        unknown(f"/{pattern}/ is found {found} times, expected {times}")
    return result


def is_guarded(text: str, position: int) -> bool:
    """True for a place in C, or in C in a string, between an `#if` and its `#endif`."""
    before = text[:position]
    opened = len(re.findall(r"^#if", before, re.MULTILINE))
    return opened > len(re.findall(r"^#endif", before, re.MULTILINE))
