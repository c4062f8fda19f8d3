"""T: temporary files are removed while they are open, which Windows does not allow."""

from __future__ import annotations

import ast

from tritonwin.patch.edits import Source, absent, calls, fixed, unknown, walk
from tritonwin.patch.model import Rule

_NAMES = ("fsrc", "flog")


def _edit(source: Source) -> str:
    function = source.function("make_cubin")
    if function is None:
        return absent("there is no make_cubin")
    block = next((w for w in walk(function, ast.With) if _bound(w) == _NAMES), None)
    if block is None:
        return fixed("no temporary file is open while it is removed")
    removals = [call for call in calls(block, "os.remove") if _removed(call) in _NAMES]
    if not removals:
        return fixed("the temporary files are removed after they are closed")
    if {_removed(call) for call in removals} != set(_NAMES):
        return unknown("make_cubin removes one of its temporary files and not the other")
    changes = []
    for call in removals:
        start, end = source.line_ends(call)
        # on one line, so that the lines below keep their numbers in tracebacks
        new = f"{_removed(call)}.close(); {source.text[start:end]}  # {RULE.marker}"
        changes.append((start, end, new))
    return source.spliced(*changes)


def _bound(block: ast.With) -> tuple[str, ...]:
    names = [item.optional_vars for item in block.items]
    return tuple(name.id for name in names if isinstance(name, ast.Name))


def _removed(call: ast.Call) -> str:
    return ast.unparse(call.args[0]).removesuffix(".name") if call.args else ""


RULE = Rule(
    id="temp-files",
    defect="T",
    file="backends/nvidia/compiler.py",
    need="jit",
    backend="nvidia",
    why="make_cubin removes its temporary .ptx and .log files inside the with block that holds "
    "them open. Windows removes no open file, so each is closed first; that the block closes it "
    "again does nothing.",
    removes="PermissionError: [WinError 32] The process cannot access the file because it is "
    "being used by another process",
    edit=_edit,
)
