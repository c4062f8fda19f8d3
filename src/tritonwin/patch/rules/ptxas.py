"""X, EK, PB, SH, T, T2, PV: which ptxas is started and how, its files and its PTX version."""

from __future__ import annotations

import ast

from tritonwin.patch.edits import Source, absent, calls, fixed, unknown, walk
from tritonwin.patch.engine import edits

_BLACKWELL = """\
if os.name == "nt":  # {marker}
    try:
        {returned}
    except RuntimeError:
        return {fallback}
"""


@edits("ptxas-blackwell")
def _blackwell(source: Source, marker: str) -> str:
    function = source.find("get_ptxas")
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
    elif code == {"_path_to_binary(name)"} and "os.name" not in ast.unparse(function):
        fallback = '_path_to_binary("ptxas")'
    else:
        return fixed("Windows starts the plain ptxas")
    if "blackwell" not in returned and fallback.startswith("knobs"):
        return unknown("get_ptxas has another form")
    return source.before(
        last, _BLACKWELL.format(marker=marker, returned=returned, fallback=fallback)
    )


_REDIRECTED = "2> {flog.name}'"
_ARGUMENTS = """\
if os.name == "nt":  # {marker}
    level = ['--opt-level', '0'] if os.environ.get("DISABLE_PTXAS_OPT", "0") == "1" else []
    arch = f'--gpu-name=sm_{{capability}}{{suffix}}'.strip()
    options = [*line_info.split(), *fmad.split(), '-v', *level, arch]
    ptxas_cmd = [ptxas, *options, fsrc.name, '-o', fbin]
    subprocess.run(ptxas_cmd, check=True, stdout=flog, stderr=flog)
else:
    {run}
"""


@edits("ptxas-shell")
def _shell(source: Source, marker: str) -> str:
    function = source.function("make_cubin")
    found = [c for c in calls(function, "subprocess.run") if "shell=True" in source.segment(c)]
    if not found:
        return fixed("ptxas is started without a shell")
    statement = next(
        (n for n in ast.walk(function) if isinstance(n, ast.Expr) and n.value is found[0]), None
    )
    if len(found) != 1 or statement is None or source.segment(function).count(_REDIRECTED) != 2:
        return unknown("the shell command of ptxas has another form")
    text = _ARGUMENTS.format(marker=marker, run=source.segment(statement))
    return source.instead(statement, text)


_NAMES = ("fsrc", "flog")


@edits("temp-files")
def _temp_files(source: Source, marker: str) -> str:
    function = source.function("make_cubin")
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
        new = f"{_removed(call)}.close(); {source.text[start:end]}  # {marker}"
        changes.append((start, end, new))
    return source.spliced(*changes)


def _bound(block: ast.With) -> tuple[str, ...]:
    names = [item.optional_vars for item in block.items]
    return tuple(name.id for name in names if isinstance(name, ast.Name))


def _removed(call: ast.Call) -> str:
    return ast.unparse(call.args[0]).removesuffix(".name") if call.args else ""


@edits("ptx-version")
def _ptx_version(source: Source, marker: str) -> str:
    function = source.function("ptx_get_version")
    block = next(
        (
            n
            for n in function.body
            if isinstance(n, ast.If) and ast.unparse(n.test) == "major == 12"
        ),
        None,
    )
    if block is None:
        return unknown("ptx_get_version has another form")
    body = [ast.unparse(statement) for statement in block.body]
    start, end = source.start_of(block.body[0].lineno), source.line_ends(block.body[-1])[1]
    if body == ["return 80 + minor"] or body == [
        "if minor < 6:\n    return 80 + minor\nelif minor == 6:\n    return 85"
    ]:
        space = source.indent(block.body[0])
        new = f"{space}return 80 + minor if minor < 6 else 79 + minor  # {marker}"
        return source.spliced((start, end, new))
    return fixed("it knows the PTX of every CUDA 12")
