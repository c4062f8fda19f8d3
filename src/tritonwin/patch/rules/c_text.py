"""5a, 5b: C that Windows or its compilers do not take, in driver.c and in launchers."""

from __future__ import annotations

import re

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, absent, fixed, is_guarded, replaced, substituted, unknown
from tritonwin.patch.engine import edits

# -- dlfcn.h

# The pointer that GetProcAddress returns says whether it succeeded. GetLastError does not: it
# may hold an old error, and triton-windows 3.4 to 3.6 crash for having asked it.


def shim(marker: str) -> str:
    """For a C file."""
    return payload.text("dlfcn.h").replace("{marker}", marker)


def shim_in_f_string(marker: str) -> str:
    """For C in a Python f-string: braces doubled; there is no backslash in it."""
    return shim(marker).replace("{", "{{").replace("}", "}}")


_INCLUDE = r"^#include <dlfcn\.h>\n"


@edits("dlfcn", "amd-dlfcn")
def _dlfcn(source: Source, marker: str) -> str:
    return _include_replaced(source, shim(marker))


@edits("dlfcn-launcher")
def _dlfcn_launcher(source: Source, marker: str) -> str:
    if "def make_launcher" not in source.text:
        return absent("there is no make_launcher: driver.c launches")
    return _include_replaced(source, shim_in_f_string(marker))


@edits("amd-dlfcn-launcher")
def _amd_dlfcn_launcher(source: Source, marker: str) -> str:
    if "def make_launcher" not in source.text or "<dlfcn.h>" not in source.text:
        return absent("there is no launcher template")
    return _include_replaced(source, shim_in_f_string(marker), 2)


def _include_replaced(source: Source, shim: str, times: int = 1) -> str:
    """The shim in the place of the first include line; the others go."""
    text = source.text
    includes = re.finditer(r"^[ \t]*#[ \t]*include\s*<dlfcn\.h>", text, re.MULTILINE)
    if all(is_guarded(text, include.start()) for include in includes):
        return fixed("dlfcn.h is not included on Windows")
    if "dladdr" in text or "dlvsym" in text:
        return unknown("it uses functions of dlfcn.h that Windows does not have")
    shims = iter([shim, *[""] * (times - 1)])
    return substituted(text, _INCLUDE, lambda _: next(shims, ""), times)


# -- dialect

_ALLOCATE = """\
#ifdef _WIN32 /* {marker} */
#include <malloc.h>
#define posix_memalign(memory, alignment, size)                                \\
  ((*(memory) = _aligned_malloc((size), (alignment))) ? 0 : 12 /* ENOMEM */)
#endif

"""
_FREE = "static void PyCUtensorMap_free(void *ptr) { free(ptr); }\n"
_FREE_BOTH = f"""\
#ifdef _WIN32
static void PyCUtensorMap_free(void *ptr) {{ _aligned_free(ptr); }}
#else
{_FREE}#endif
"""


@edits("aligned-memory")
def _aligned(source: Source, marker: str) -> str:
    text = source.text
    if "posix_memalign" not in text:
        return absent("no aligned memory is asked for")
    if "_aligned_malloc" in text:
        return fixed("Windows asks _aligned_malloc")
    if text.count("posix_memalign(") != 1 or text.count(_FREE) != 1:
        return unknown("posix_memalign or its free has another form")
    head, tail = text.split("posix_memalign(")
    start = head.rfind("\nstatic PyObject *") + 1
    if not start:
        return unknown("posix_memalign is called in another place")
    text = head[:start] + _ALLOCATE.format(marker=marker) + head[start:]
    return replaced(text + "posix_memalign(" + tail, _FREE, _FREE_BOTH)
