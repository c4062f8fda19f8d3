"""AMD: what keeps the HIP backend from working on Windows, as far as it is known."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import (
    Source,
    absent,
    calls,
    fixed,
    replaced,
    unknown,
    walk,
)
from tritonwin.patch.model import Rule
from tritonwin.patch.payload import dlfcn as shims
from tritonwin.patch.rules import c_dialect, dlfcn, helper_modules

_DRIVER_C = "backends/amd/driver.c"
_DRIVER_PY = "backends/amd/driver.py"
_COMPILER = "backends/amd/compiler.py"
_RUNTIME = """\
if os.name == "nt":  # {marker}
    return _tritonwin_hip_runtime()
"""
_LLD = """\
if os.name == "nt" and _tritonwin_lld():  # {marker}
    return _tritonwin_lld()
"""


def _edit_runtime(source: Source) -> str:
    function = source.function("_get_path_to_hip_runtime_dylib")
    if function is None:
        return absent("there is no _get_path_to_hip_runtime_dylib")
    text = ast.unparse(function)
    if "'/sbin/ldconfig'" not in text or ".dll" in text or "os.name" in text:
        return fixed("Windows looks for amdhip64.dll")
    edited = source.before_body(function, _RUNTIME.format(marker=RUNTIME.marker))
    return payload.appended(edited, "hip_runtime.py", RUNTIME.marker)


def _edit_driver(source: Source) -> str:
    return dlfcn.include_replaced(source, shims.shim(DLFCN.marker))


def _edit_launcher(source: Source) -> str:
    if "def make_launcher" not in source.text or "<dlfcn.h>" not in source.text:
        return absent("there is no launcher template")
    return dlfcn.include_replaced(source, shims.shim_in_f_string(DLFCN_LAUNCHER.marker), 2)


def _edit_temporary(source: Source) -> str:
    function = source.function("make_hsaco")
    if function is None:
        return absent("there is no make_hsaco")
    found = [
        c for c in calls(function, "tempfile.NamedTemporaryFile") if not (c.args or c.keywords)
    ]
    if not found:
        return fixed("no open temporary file is opened again")
    changes = [(*source.span(call), "_tritonwin_closed_file()") for call in found]
    return payload.appended(source.spliced(*changes), "closed_file.py", TEMPORARY.marker)


def _edit_lld(source: Source) -> str:
    function = source.function("path_to_rocm_lld")
    if function is None:
        return absent("the linker is part of libtriton")
    if ".exe" in source.segment(function):
        return fixed("Windows looks for ld.lld.exe")
    beside = [n for n in walk(function, ast.Assign) if "__file__" in ast.unparse(n)]
    if len(beside) != 1:
        return unknown("path_to_rocm_lld has another form")
    edited = source.before(beside[0], _LLD.format(marker=LLD.marker))
    return payload.appended(edited, "lld.py", LLD.marker)


def _edit_suffix(source: Source) -> str:
    return helper_modules.suffix(source, SUFFIX.marker)


def _edit_arguments(source: Source) -> str:
    return helper_modules.arguments(source, ARGUMENTS.marker)


def _edit_head(source: Source) -> str:
    return c_dialect.object_head(source, HEAD.marker)


def _edit_head_launcher(source: Source) -> str:
    return c_dialect.object_head(source, HEAD_LAUNCHER.marker)


def _edit_shift(source: Source) -> str:
    if "(0x1 << 31)" not in source.text:
        return absent("there is no such shift")
    return replaced(source.text, "(0x1 << 31)", f"(0x1u << 31 /* {SHIFT.marker} */)")


RUNTIME = Rule(
    id="amd-runtime",
    defect="7b",
    file=_DRIVER_PY,
    need="jit",
    backend="amd",
    why="The HIP runtime is looked for as libamdhip64.so, through /sbin/ldconfig and a "
    "LD_LIBRARY_PATH with colons. On Windows it is amdhip64*.dll in ROCm's wheels, in torch, in "
    "the HIP SDK or in System32, where AMD's driver puts it; and its path needs its backslashes "
    "doubled before it is pasted into C.",
    removes="FileNotFoundError: [WinError 2] The system cannot find the file specified (ldconfig)",
    edit=_edit_runtime,
)

DLFCN = Rule(
    id="amd-dlfcn",
    defect="7d",
    file=_DRIVER_C,
    need="jit",
    backend="amd",
    why="The same as for NVIDIA: a few functions take the place of dlfcn.h.",
    removes="fatal error: 'dlfcn.h' file not found",
    edit=_edit_driver,
)

DLFCN_LAUNCHER = Rule(
    id="amd-dlfcn-launcher",
    defect="7c",
    file=_DRIVER_PY,
    need="jit",
    backend="amd",
    why="The launcher's template includes dlfcn.h, twice, up to Triton 3.6.",
    removes="fatal error: 'dlfcn.h' file not found",
    edit=_edit_launcher,
)

TEMPORARY = Rule(
    id="amd-temp-files",
    defect="AMD",
    file=_COMPILER,
    need="jit",
    backend="amd",
    why="make_hsaco opens temporary files a second time by their name, which Windows refuses while "
    "they are open. They are closed first and removed at the end.",
    removes="PermissionError: [Errno 13] Permission denied",
    edit=_edit_temporary,
)

LLD = Rule(
    id="amd-lld",
    defect="AMD",
    file=_COMPILER,
    need="jit",
    backend="amd",
    why="Up to Triton 3.4 an external linker is looked for as ld.lld, in folders of Linux.",
    removes="Exception: ROCm linker /opt/rocm/llvm/bin/ld.lld not found",
    edit=_edit_lld,
)

SUFFIX = Rule(
    id="amd-module-suffix",
    defect="SO",
    file=_DRIVER_PY,
    need="jit",
    backend="amd",
    why="Helper modules are named .so, for which Python on Windows has no loader.",
    removes="AttributeError: 'NoneType' object has no attribute 'loader'",
    edit=_edit_suffix,
)

ARGUMENTS = Rule(
    id="amd-int64-arguments",
    defect="5j",
    file=_DRIVER_PY,
    need="robust",
    backend="amd",
    why="64-bit arguments of a kernel are read as a C long, which has 32 bits on Windows.",
    removes="OverflowError: Python int too large to convert to C long",
    edit=_edit_arguments,
)

HEAD = Rule(
    id="amd-object-head",
    defect="5f",
    file=_DRIVER_C,
    need="robust",
    backend="amd",
    why="PyObject_HEAD ends in a semicolon of its own; MSVC refuses a second one.",
    removes="driver.c: error C2059: syntax error: ';' (MSVC)",
    edit=_edit_head,
)

HEAD_LAUNCHER = Rule(
    id="amd-object-head-launcher",
    defect="5f",
    file=_DRIVER_PY,
    need="robust",
    backend="amd",
    why="PyObject_HEAD ends in a semicolon of its own; MSVC refuses a second one.",
    removes="__triton_launcher.c: error C2059: syntax error: ';' (MSVC)",
    edit=_edit_head_launcher,
)

SHIFT = Rule(
    id="amd-shift",
    defect="AMD",
    file=_DRIVER_C,
    need="robust",
    backend="amd",
    why="A 1 is shifted into the sign of a signed number, which C leaves undefined.",
    removes="warning: signed shift result sets the sign bit (clang-cl)",
    edit=_edit_shift,
)

RULES = (
    TEMPORARY,
    LLD,
    RUNTIME,
    SUFFIX,
    ARGUMENTS,
    DLFCN_LAUNCHER,
    HEAD_LAUNCHER,
    DLFCN,
    HEAD,
    SHIFT,
)
