"""One source in the import hook: the rules, its own detours, and the code of the result.

Valid on Python 3.9, like all that is carried into a target.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
from typing import TYPE_CHECKING

from tritonwin.patch import engine
from tritonwin.patch.engine import Flavour, RuleChoice
from tritonwin.patch.rules import RULES

if TYPE_CHECKING:
    from types import CodeType

    # the code of a Python file, the text of a C file, or None where it is to be used as it is;
    # the rules that were applied; what is wrong
    Result = tuple[CodeType | str | None, tuple[str, ...], str]

_C_SOURCE = 'os.path.join(dirname, "driver.c")'
_C_DETOUR = (_C_SOURCE, f"_tritonwin_c_source({_C_SOURCE})")
# Where Triton reads a file or loads a module without the import system: one text a file, replaced
# within its line by a call of the hook. Up to 3.3 backends are loaded by their paths.
DETOURS = {
    "backends/__init__.py": ("importlib.util.spec_from_file_location(", "_tritonwin_spec("),
    "backends/nvidia/driver.py": _C_DETOUR,
    "backends/amd/driver.py": _C_DETOUR,
}


def apply(file: str, path: str, data: bytes, flavour: Flavour, choice: RuleChoice | None) -> Result:
    """The rules applied to the bytes of one file of Triton.

    Args:
        file: relative to the package folder, with slashes.
        path: where it lies, for tracebacks.
        choice: None: no rules, only the detours by which the hook sees every module.

    Raises:
        UnicodeDecodeError, SyntaxError: nothing can be done with this file.
    """
    python = file.endswith(".py")
    text = importlib.util.decode_source(data) if python else _c_text(data)
    chosen = [rule for rule in RULES if choice and choice.takes(rule.id)]
    outcome = engine.transform(file, text, chosen, flavour)
    wrong = "; ".join(f"rule {name}: {reason}" for name, reason in outcome.unknown.items())
    trusted = choice is not None and choice.allow_unknown
    if outcome.applied and not trusted and not engine.releases(file, text):
        return None, (), "not patched, its content is that of no known release"
    old, new = DETOURS.get(file, ("", ""))
    patched = outcome.text
    if old and patched.count(old) == 1:
        patched = patched.replace(old, new)
    if patched == text:
        return None, (), wrong
    return compiled(text, patched, path) if python else patched, outcome.applied, wrong


def _c_text(data: bytes) -> str:
    return data.decode("utf-8").replace("\r\n", "\n")


def compiled(text: str, patched: str, path: str) -> CodeType:
    """The code of `patched` with the line numbers of `text`, which is what tracebacks show."""
    tree = ast.parse(patched)
    line = _original_lines(text.split("\n"), patched.split("\n"))
    for node in ast.walk(tree):
        if not isinstance(node, (ast.expr, ast.stmt, ast.excepthandler, ast.arg, ast.keyword)):
            continue
        first, last = line[node.lineno], line[node.end_lineno or node.lineno]
        if (first, last) != (node.lineno, node.end_lineno):
            # columns of a line that is another one on disk mean nothing
            node.col_offset = node.end_col_offset = 0
        node.lineno, node.end_lineno = first, last
    return compile(tree, path, "exec", dont_inherit=True)


def _original_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """For each line of the new text, from 1, the old one that it is or stands below."""
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return {
        at + 1: max(min(start + at - first + 1, end), 1)
        for _, start, end, first, last in matcher.get_opcodes()
        for at in range(first, last)
    }
