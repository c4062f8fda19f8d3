"""X, EK, PB: which ptxas is started, and how the user names another one."""

from __future__ import annotations

import ast

from tritonwin.patch.edits import Source, absent, fixed, unknown, walk
from tritonwin.patch.model import Rule

_COMPILER = "backends/nvidia/compiler.py"
_VARIABLES_WHY = (
    "The name of the environment variable is built from the name of the program after .exe was "
    "added to it: Triton reads TRITON_PTXAS.EXE_PATH, and the documented TRITON_PTXAS_PATH is "
    "ignored without a word."
)
_VARIABLES_REMOVES = "(nothing is said: TRITON_PTXAS_PATH has no effect)"
_BLACKWELL = """\
if os.name == "nt":  # {marker}
    try:
        {returned}
    except RuntimeError:
        return {fallback}
"""


def _edit_suffix(source: Source) -> str:
    function = source.function("_path_to_binary")
    if function is None:
        return absent("there is no _path_to_binary")
    text = source.segment(function)
    if ".exe" in text or '"EXE"' in text:
        return fixed("the name of the tool gets its .exe")
    joins = [c for c in walk(function, ast.Call) if ast.unparse(c.func) == "os.path.join"]
    if len(joins) != 1 or [ast.unparse(last) for last in joins[0].args[-1:]] != ["binary"]:
        return unknown("the path of the tool is put together in another form")
    return source.spliced(
        (*source.span(joins[0].args[-1]), 'binary + (".exe" if os.name == "nt" else "")'),
        source.marked(joins[0].end_lineno or 0, SUFFIX.marker),
    )


def _edit_variables_of_3_3(source: Source) -> str:
    return _edit_variables(source, source.function("_path_to_binary"), VARIABLES_OF_3_3)


def _edit_variables_of_knobs(source: Source) -> str:
    return _edit_variables(source, source.function("__init__", "env_nvidia_tool"), VARIABLES)


def _edit_variables(source: Source, function: ast.FunctionDef | None, rule: Rule) -> str:
    if function is None:
        return absent("the variables are not read here")
    keys = [
        node
        for node in walk(function, ast.JoinedStr)
        if ast.unparse(node).startswith(("f'TRITON_{", 'f"TRITON_{'))
    ]
    if len(keys) != 1:
        return unknown("the name of the variable is put together in another form")
    added = [n for n in function.body if isinstance(n, ast.AugAssign) and "EXE" in ast.unparse(n)]
    if not added or added[0].lineno > keys[0].lineno:
        return fixed("the name of the variable is built without .exe")
    end = source.span(keys[0])[1]
    return source.spliced(
        (end, end, '.replace(".EXE", "")'), source.marked(keys[0].lineno, rule.marker)
    )


def _edit_blackwell(source: Source) -> str:
    function = source.function("get_ptxas")
    if function is None or "blackwell" not in source.segment(function):
        return absent("one ptxas serves all GPUs")
    returns = [node for node in walk(function, ast.Return) if node.value is not None]
    if not returns:
        return unknown("get_ptxas returns nothing")
    last = returns[-1]
    returned = source.segment(last)
    code = {ast.unparse(node.value) for node in returns if node.value is not None}
    if any("blackwell" in each for each in code):
        fallback = "knobs.nvidia.ptxas"
    elif code == {"_path_to_binary(name)"} and not _windows_branch(function):
        fallback = '_path_to_binary("ptxas")'
    else:
        return fixed("Windows starts the plain ptxas")
    if "blackwell" not in returned and fallback.startswith("knobs"):
        return unknown("get_ptxas has another form")
    return source.before(
        last, _BLACKWELL.format(marker=BLACKWELL.marker, returned=returned, fallback=fallback)
    )


def _windows_branch(function: ast.FunctionDef) -> bool:
    return "os.name" in ast.unparse(function)


SUFFIX = Rule(
    id="tool-suffix",
    defect="X",
    file=_COMPILER,
    need="jit",
    backend="nvidia",
    why="Triton 3.0 to 3.2 look for a file 'ptxas' beside the backend; on Windows it is ptxas.exe.",
    removes="RuntimeError: Cannot find ptxas",
    edit=_edit_suffix,
)

VARIABLES_OF_3_3 = Rule(
    id="tool-variables-3.3",
    defect="EK",
    file=_COMPILER,
    need="robust",
    backend="nvidia",
    why=_VARIABLES_WHY,
    removes=_VARIABLES_REMOVES,
    edit=_edit_variables_of_3_3,
)

VARIABLES = Rule(
    id="tool-variables",
    defect="EK",
    file="knobs.py",
    need="robust",
    backend="nvidia",
    why=_VARIABLES_WHY,
    removes=_VARIABLES_REMOVES,
    edit=_edit_variables_of_knobs,
)

BLACKWELL = Rule(
    id="ptxas-blackwell",
    defect="PB",
    file=_COMPILER,
    need="jit",
    backend="nvidia",
    why="For RTX 50 and other GPUs of compute capability 10.0 and above (Triton 3.9: 9.0) upstream "
    "starts a second ptxas, ptxas-blackwell, that no Windows wheel brings. Where it is not there "
    "the plain ptxas is started, which knows these GPUs from CUDA 12.8 on.",
    removes="RuntimeError: Cannot find ptxas-blackwell.exe",
    edit=_edit_blackwell,
)
