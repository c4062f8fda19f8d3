"""K, PV: what the compiler knows of its own files and of CUDA's versions."""

from __future__ import annotations

import ast

from tritonwin.patch.edits import Source, absent, fixed, unknown, walk
from tritonwin.patch.model import Rule

_LIBRARY = '"_C/libtriton.so"'


def _edit_library(source: Source) -> str:
    function = source.function("triton_key")
    if function is None:
        return absent("triton_key is elsewhere")
    if "libtriton.so" not in source.segment(function):
        return fixed("the suffix of libtriton is that of the system")
    names = [node for node in walk(function, ast.Constant) if source.segment(node) == _LIBRARY]
    if len(names) != 1 or "os.name" in source.segment(function):
        return fixed("Windows reads libtriton.pyd")
    return source.spliced(
        (*source.span(names[0]), f'"_C/libtriton.pyd" if os.name == "nt" else {_LIBRARY}'),
        source.marked(names[0].lineno, LIBRARY.marker),
    )


def _edit_ptx(source: Source) -> str:
    function = source.function("ptx_get_version")
    if function is None:
        return absent("there is no ptx_get_version")
    block = next((n for n in function.body if isinstance(n, ast.If) and _is_cuda_12(n)), None)
    if block is None:
        return unknown("ptx_get_version has another form")
    body = [ast.unparse(statement) for statement in block.body]
    start, end = source.start_of(block.body[0].lineno), source.line_ends(block.body[-1])[1]
    if body == ["return 80 + minor"] or body == [
        "if minor < 6:\n    return 80 + minor\nelif minor == 6:\n    return 85"
    ]:
        space = source.indent(block.body[0])
        new = f"{space}return 80 + minor if minor < 6 else 79 + minor  # {PTX.marker}"
        return source.spliced((start, end, new))
    return fixed("it knows the PTX of every CUDA 12")


def _is_cuda_12(node: ast.If) -> bool:
    return ast.unparse(node.test) == "major == 12"


LIBRARY = Rule(
    id="libtriton-name",
    defect="K",
    file="compiler/compiler.py",
    need="jit",
    why="Triton 3.0 to 3.2 read their own binary, libtriton.so, for the key of the cache. On "
    "Windows it is libtriton.pyd.",
    removes="FileNotFoundError: [Errno 2] No such file or directory: '...\\\\_C/libtriton.so'",
    edit=_edit_library,
)

PTX = Rule(
    id="ptx-version",
    defect="PV",
    file="backends/nvidia/compiler.py",
    need="robust",
    backend="nvidia",
    why="Triton 3.0 to 3.2 were made when CUDA 12.5 or 12.6 was the newest, and compute a PTX "
    "version that does not exist, or none, for a later ptxas. From 12.6 on it is 79 plus the minor "
    "version.",
    removes="RuntimeError: Triton only support CUDA 10.0 or higher, but got CUDA version: 12.8",
    edit=_edit_ptx,
)
