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
    only = choice.only if choice else ("",)
    chosen = [rule for rule in RULES if not only or rule.id in only]
    outcome = engine.transform(file, text, chosen, flavour)
    wrong = "; ".join(
        f"rule {name}: {verdict.reason}"
        for name, verdict in outcome.skipped.items()
        if verdict.state == "unknown"
    )
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
        first, last = node.lineno, node.end_lineno or node.lineno
        node.lineno, node.end_lineno = line[first], line[last]
        if (line[first], line[last]) != (first, last):
            # columns of a line that is another one on disk mean nothing
            node.col_offset = node.end_col_offset = 0
    return compile(tree, path, "exec", dont_inherit=True)


def _original_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """For each line of the new text, from 1, the old one that it is or stands below."""
    lines: dict[int, int] = {}
    for _, start, end, new_start, new_end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        for offset in range(new_end - new_start):
            lines[new_start + offset + 1] = max(min(start + offset + 1, end), 1)
    return lines
