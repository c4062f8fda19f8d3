"""A source as Windows sees it: branches for other systems blanked, line numbers kept.

A Triton for Windows keeps the Linux code beside its own (`if os.name == "nt"`, `#ifndef _WIN32`),
so the presence of a Linux call says nothing until the branches are resolved.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_PYTHON_VALUES = {"os.name": "nt", "sys.platform": "win32", "platform.system": "Windows"}
_PYTHON_TRUE = {"is_windows", "_is_windows"}  # helper functions of that name
_C_NAMES = {
    "_WIN32": True,
    "_WIN64": True,
    "__linux__": False,
    "__unix__": False,
    "__APPLE__": False,
}
_DIRECTIVE = re.compile(r"\s*#\s*(ifdef|ifndef|if|elif|else|endif)\b\s*(.*)")
_DEFINED = re.compile(r"(!?)\s*defined\s*\(?\s*(\w+)\s*\)?\s*$")


def windows_view(name: str, text: str) -> str:
    """The source `name` as it is on Windows; Python that does not parse stays as it is."""
    if not name.endswith(".py"):
        return c_view(text)
    try:
        return python_view(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def c_view(text: str) -> str:
    """C with the branches blanked that a compiler for Windows skips. Unknown conditions stay."""
    lines = text.split("\n")
    open_branches: list[_Branch] = []
    for number, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        if directive:
            word, rest = directive.groups()
            if word.startswith("if"):
                outside = bool(open_branches) and open_branches[-1].dead
                open_branches.append(_Branch(_c_truth(word, rest), outside))
            elif not open_branches:
                continue  # a fragment may close what it did not open
            elif word == "endif":
                open_branches.pop()
            else:
                open_branches[-1].next(True if word == "else" else _c_truth("if", rest))
        elif open_branches and open_branches[-1].dead:
            lines[number] = ""
    return "\n".join(lines)


@dataclass
class _Branch:
    """One `#if` while it is open. None: its condition is not about the operating system."""

    live: bool | None
    outside: bool  # whether a branch around it is skipped
    before: set[bool | None] = field(default_factory=set)

    @property
    def dead(self) -> bool:
        return self.outside or self.live is False

    def next(self, condition: bool | None) -> None:
        self.before.add(self.live)
        if True in self.before:
            self.live = False
        elif None in self.before:
            self.live = None if condition is not False else False
        else:
            self.live = condition


def _c_truth(word: str, condition: str) -> bool | None:
    if word == "if":
        match = _DEFINED.match(condition)
        if not match:
            return None
        negated, name = bool(match[1]), match[2]
    else:
        negated, name = word == "ifndef", condition.split(maxsplit=1)[0] if condition else ""
    value = _C_NAMES.get(name)
    return None if value is None else value != negated


def python_view(text: str) -> str:
    """Python without comment lines and without what `os.name == "nt"` and its like rule out.

    C held in strings of several lines is treated as C.

    Raises:
        SyntaxError, ValueError: the text is no Python source.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # line numbers as the parser counts
    tree = ast.parse(text)
    lines = [bytearray(line.encode()) for line in text.split("\n")]
    finder = _DeadCode([b"if" in line for line in lines])
    finder.visit(tree)
    quoted = {n for start, end in finder.strings for n in range(start, end)}
    for number, line in enumerate(lines):
        if number not in quoted and line.lstrip().startswith(b"#"):
            lines[number] = bytearray()
    for start, end in finder.strings:
        inside = b"\n".join(lines[start:end]).decode()
        if "#include" in inside:
            lines[start:end] = [bytearray(line.encode()) for line in c_view(inside).split("\n")]
    for first, start, last, end in finder.dead:
        for number in range(first, last + 1):
            line = lines[number]
            left = start if number == first else 0
            right = end if number == last else len(line)
            line[left:right] = b" " * (min(right, len(line)) - left)  # in place: may be long
    return b"\n".join(lines).decode()


class _DeadCode(ast.NodeVisitor):
    """Collects spans (0-based lines, byte columns) that cannot run on Windows."""

    def __init__(self, conditional: Sequence[bool]) -> None:
        self.conditional = conditional  # by line: whether an `if` may stand in it
        self.dead: list[tuple[int, int, int, int]] = []
        self.strings: list[tuple[int, int]] = []  # lines [start, end) of long strings

    def generic_visit(self, node: ast.AST) -> None:
        line = getattr(node, "lineno", 0)
        if line and line == getattr(node, "end_lineno", 0) and not self.conditional[line - 1]:
            return  # most nodes, and nothing to find in them
        for _, value in ast.iter_fields(node):
            if isinstance(value, list):
                self._block(value)
            elif isinstance(value, ast.AST):
                self.visit(value)

    def _block(self, nodes: Sequence[object]) -> None:
        for position, node in enumerate(nodes):
            if not isinstance(node, ast.AST):
                continue
            self.visit(node)
            if isinstance(node, ast.If) and (truth := _truth(node.test)) is not None:
                live = node.body if truth else node.orelse
                leaves = (ast.Return, ast.Raise, ast.Continue, ast.Break)
                if live and isinstance(live[-1], leaves):  # Windows never gets past this `if`
                    self._kill(nodes[position + 1 :])
                    return

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        truth = _truth(node.test)
        for branch, alive in ((node.body, truth), (node.orelse, truth is not True)):
            if alive is False:
                self._kill(branch)
            else:
                self._block(branch)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        truth = _truth(node.test)
        if truth is not None:
            self._kill([node.orelse if truth else node.body])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self._string(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        # not its parts: before Python 3.12 their positions are wrong
        self._string(node)

    def _string(self, node: ast.expr) -> None:
        if node.end_lineno is not None and node.end_lineno > node.lineno:
            self.strings.append((node.lineno - 1, node.end_lineno))

    def _kill(self, nodes: Sequence[object]) -> None:
        for node in nodes:
            if isinstance(node, (ast.stmt, ast.expr)):
                last = node.end_lineno or node.lineno
                self.dead.append(
                    (node.lineno - 1, node.col_offset, last - 1, node.end_col_offset or 0)
                )


def _truth(test: ast.expr) -> bool | None:
    """The value of a condition on Windows; None when it does not ask for the system."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        values = [_truth(value) for value in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if isinstance(test, ast.Compare):
        left = test.left.func if isinstance(test.left, ast.Call) else test.left
        value = _PYTHON_VALUES.get(_dotted(left))
        operator, other = test.ops[0], test.comparators[0]
        if value is None or not isinstance(other, ast.Constant):
            return None
        if not isinstance(operator, (ast.Eq, ast.NotEq)):
            return None
        return (value == other.value) == isinstance(operator, ast.Eq)
    if isinstance(test, ast.Call):
        name = _dotted(test.func)
        if name == "sys.platform.startswith" and len(test.args) == 1:
            prefix = test.args[0]
            return isinstance(prefix, ast.Constant) and prefix.value in ("win", "win32")
        return True if name in _PYTHON_TRUE else None
    return None


def _dotted(node: ast.expr) -> str:
    """A name as written, "os.name"; empty for anything that is not a plain name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return ""
