"""SO, 5j: the helper modules of Triton 3.0 to 3.2, in both backends."""

from __future__ import annotations

from tritonwin.patch.edits import Source, absent, fixed, replaced, unknown
from tritonwin.patch.model import Rule

_SUFFIX = 'f"{name}.so"'
_ARGUMENT = '"int64_t": "l",'


def suffix(source: Source, marker: str) -> str:
    function = source.function("compile_module_from_src")
    if function is None:
        return absent("helper modules are compiled in runtime/build.py")
    text = source.segment(function)
    if _SUFFIX not in text or ".pyd" in text:
        return fixed("helper modules get the suffix of the system")
    if text.count(_SUFFIX) != 2:
        return unknown("the names of helper modules are put together in another form")
    start, end = source.span(function)
    new = text.replace(_SUFFIX, """f"{name}.{'pyd' if os.name == 'nt' else 'so'}\"""")
    first = new.index("\n")
    return source.spliced((start, end, f"{new[:first]}  # {marker}{new[first:]}"))


def arguments(source: Source, marker: str) -> str:
    if '"int64_t": "' not in source.text:
        return absent("arguments are not read by such a table")
    if '"int64_t": "L"' in source.text:
        return fixed("int64 is read as long long")
    return replaced(source.text, _ARGUMENT, f'"int64_t": "L",  # {marker}')


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
