"""SO, 5j, 5k: helper modules that are named .so, and C longs that hold 64-bit numbers."""

from __future__ import annotations

import re

from tritonwin.patch.edits import Source, absent, fixed, substituted, unknown
from tritonwin.patch.model import Rule

_SUFFIX = 'f"{name}.so"'
_SUFFIX_OF_SYSTEM = """f"{name}.{'pyd' if os.name == 'nt' else 'so'}\""""
_ARGUMENT = r'"int64_t": "l",(?=[ \t]*(?:#.*)?$)'
_SHAPE = r"(shapeInt\[[^\]\n]{1,80}\] = )PyLong_AsLong\(item\);"


def suffix(source: Source, marker: str) -> str:
    function = source.function("compile_module_from_src")
    if function is None:
        return absent("helper modules are compiled in runtime/build.py")
    text = source.segment(function)
    if _SUFFIX not in text or ".pyd" in text:
        return fixed("helper modules get the suffix of the system")
    if text.count(_SUFFIX) != 2:
        return unknown("the names of helper modules are put together in another form")
    start = source.span(function)[0]
    found = re.finditer(re.escape(_SUFFIX), text)
    changes = [(start + m.start(), start + m.end(), _SUFFIX_OF_SYSTEM) for m in found]
    return source.spliced(*changes, source.marked(function.lineno, marker))


def arguments(source: Source, marker: str) -> str:
    if '"int64_t": "' not in source.text:
        return absent("arguments are not read by such a table")
    if '"int64_t": "L"' in source.text:
        return fixed("int64 is read as long long")
    return substituted(source.text, _ARGUMENT, f'"int64_t": "L",  # {marker}')


def _edit_shape(source: Source) -> str:
    found = len(re.findall(_SHAPE, source.text))
    if "shapeInt[" not in source.text:
        return absent("it reads no shapes of tensor maps")
    if not found:
        return fixed("shapes are read as long long")
    new = rf"\1PyLong_AsLongLong(item); /* {SHAPE.marker} */"
    return substituted(source.text, _SHAPE, new, found)


def _edit_suffix(source: Source) -> str:
    return suffix(source, SUFFIX.marker)


def _edit_arguments(source: Source) -> str:
    return arguments(source, ARGUMENTS.marker)


SUFFIX = Rule(
    id="module-suffix",
    defect="SO",
    file="backends/nvidia/driver.py",
    need="jit",
    backend="nvidia",
    why="Triton 3.0 to 3.2 name their compiled helper modules .so. Python on Windows finds no "
    "loader for that.",
    removes="AttributeError: 'NoneType' object has no attribute 'loader'",
    edit=_edit_suffix,
)

ARGUMENTS = Rule(
    id="int64-arguments",
    defect="5j",
    file="backends/nvidia/driver.py",
    need="robust",
    backend="nvidia",
    why="64-bit arguments of a kernel are read as a C long, which has 32 bits on Windows.",
    removes="OverflowError: Python int too large to convert to C long",
    edit=_edit_arguments,
)

SHAPE = Rule(
    id="tensor-map-shape",
    defect="5k",
    file="backends/nvidia/driver.c",
    need="robust",
    backend="nvidia",
    why="The shape of a tensor that gets a descriptor is read as a C long, which has 32 bits on "
    "Windows: one dimension of 2^31 elements or more is refused. Strides are read right.",
    removes="OverflowError: Python int too large to convert to C long (then SystemError: ... "
    "returned a result with an exception set)",
    edit=_edit_shape,
)
