"""5a, 5d: C that opens libraries with dlfcn.h, in driver.c and in the launcher's template."""

from __future__ import annotations

import re

from tritonwin.patch.edits import Source, absent, fixed, is_guarded, substituted, unknown
from tritonwin.patch.model import Rule
from tritonwin.patch.payload import dlfcn

_INCLUDE = r"^#include <dlfcn\.h>\n"
_WHY = (
    "Windows has no dlfcn.h. The one include line gives way to the few functions of it that are "
    "used, written for Windows; what calls them stays as it is. They look at the pointer that "
    "GetProcAddress returns and never at GetLastError, which may hold an old error."
)


def _in_c(source: Source) -> str:
    return include_replaced(source, dlfcn.shim(DRIVER.marker))


def _in_template(source: Source) -> str:
    if "def make_launcher" not in source.text:
        return absent("there is no make_launcher: driver.c launches")
    return include_replaced(source, dlfcn.shim_in_f_string(LAUNCHER.marker))


def include_replaced(source: Source, shim: str, times: int = 1) -> str:
    """The shim in the place of the first include line; the others go."""
    text = source.text
    includes = re.finditer(r"^[ \t]*#[ \t]*include\s*<dlfcn\.h>", text, re.MULTILINE)
    if all(is_guarded(text, include.start()) for include in includes):
        return fixed("dlfcn.h is not included on Windows")
    if "dladdr" in text or "dlvsym" in text:
        return unknown("it uses functions of dlfcn.h that have no like on Windows")
    shims = iter([shim, *[""] * (times - 1)])
    return substituted(text, _INCLUDE, lambda _: next(shims, ""), times)


DRIVER = Rule(
    id="dlfcn",
    defect="5a",
    file="backends/nvidia/driver.c",
    need="jit",
    backend="nvidia",
    why=_WHY,
    removes="fatal error: 'dlfcn.h' file not found (TinyCC: include file 'dlfcn.h' not found)",
    edit=_in_c,
    covers=("5c",),
)

LAUNCHER = Rule(
    id="dlfcn-launcher",
    defect="5d",
    file="backends/nvidia/driver.py",
    need="jit",
    backend="nvidia",
    why="Up to Triton 3.6 each kernel has a launcher of its own, compiled from a template in "
    "driver.py, which includes dlfcn.h a second time. " + _WHY,
    removes="main.c:5: error: include file 'dlfcn.h' not found",
    edit=_in_template,
)
