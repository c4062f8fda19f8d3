"""5a-5k, GL: C that Windows or its compilers do not take, in driver.c and in launchers."""

from __future__ import annotations

import re

from tritonwin.patch.edits import (
    Source,
    absent,
    fixed,
    is_guarded,
    replaced,
    substituted,
    unknown,
)
from tritonwin.patch.engine import rule

_DRIVER_C = "backends/nvidia/driver.c"
_DRIVER_PY = "backends/nvidia/driver.py"
_AMD_DRIVER_C = "backends/amd/driver.c"
_AMD_DRIVER_PY = "backends/amd/driver.py"

# -- dlfcn.h

# The pointer that GetProcAddress returns says whether it succeeded. GetLastError does not: it
# may hold an old error, and triton-windows 3.4 to 3.6 crash for having asked it.
_DLFCN = """\
#ifdef _WIN32 /* {marker} */
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <string.h>
#include <windows.h>
#define RTLD_LAZY 1
#define RTLD_LOCAL 0
#define RTLD_NOLOAD 4
static const char *tritonwin_dl_error = NULL;
static inline void *dlopen(const char *name, int mode) {
  if (strcmp(name, "libcuda.so.1") == 0)
    name = "nvcuda.dll";
  if (strcmp(name, "libamdhip64.so") == 0)
    name = GetModuleHandleA("amdhip64_7.dll") ? "amdhip64_7.dll" : "amdhip64_6.dll";
  if (mode & RTLD_NOLOAD)
    return (void *)GetModuleHandleA(name);
  /* from the system's folder, or together with what lies beside it */
  return (void *)LoadLibraryExA(name, NULL, strpbrk(name, "/:") ? 0x8 : 0x800);
}
static inline void *dlsym(void *library, const char *name) {
  void *symbol = (void *)GetProcAddress((HMODULE)library, name);
  tritonwin_dl_error = symbol ? NULL : "no such function in this library";
  return symbol;
}
static inline const char *dlerror(void) {
  const char *error = tritonwin_dl_error;
  tritonwin_dl_error = NULL;
  return error;
}
static inline int dlclose(void *library) {
  return FreeLibrary((HMODULE)library) ? 0 : -1;
}
#else
#include <dlfcn.h>
#endif
"""


def shim(marker: str) -> str:
    """For a C file."""
    return _DLFCN.replace("{marker}", marker)


def shim_in_f_string(marker: str) -> str:
    """For C in a Python f-string: braces doubled; there is no backslash in it."""
    return shim(marker).replace("{", "{{").replace("}", "}}")


_INCLUDE = r"^#include <dlfcn\.h>\n"
_DLFCN_WHY = (
    "Windows has no dlfcn.h. The one include line gives way to the few functions of it that are "
    "used, written for Windows; what calls them stays as it is. They look at the pointer that "
    "GetProcAddress returns and never at GetLastError, which may hold an old error."
)


@rule(
    "dlfcn",
    defect="5a",
    file=_DRIVER_C,
    need="jit",
    why=_DLFCN_WHY,
    removes="fatal error: 'dlfcn.h' file not found (TinyCC: include file 'dlfcn.h' not found)",
    covers=("5c",),
)
@rule(
    "amd-dlfcn",
    defect="7d",
    file=_AMD_DRIVER_C,
    need="jit",
    why="The same as for NVIDIA: a few functions take the place of dlfcn.h.",
    removes="fatal error: 'dlfcn.h' file not found",
)
def _dlfcn(source: Source, marker: str) -> str:
    return _include_replaced(source, shim(marker))


@rule(
    "dlfcn-launcher",
    defect="5d",
    file=_DRIVER_PY,
    need="jit",
    why="Up to Triton 3.6 each kernel has a launcher of its own, compiled from a template in "
    "driver.py, which includes dlfcn.h a second time. " + _DLFCN_WHY,
    removes="main.c:5: error: include file 'dlfcn.h' not found",
)
def _dlfcn_launcher(source: Source, marker: str) -> str:
    if "def make_launcher" not in source.text:
        return absent("there is no make_launcher: driver.c launches")
    return _include_replaced(source, shim_in_f_string(marker))


@rule(
    "amd-dlfcn-launcher",
    defect="7c",
    file=_AMD_DRIVER_PY,
    need="jit",
    why="The launcher's template includes dlfcn.h, twice, up to Triton 3.6.",
    removes="fatal error: 'dlfcn.h' file not found",
)
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
        return unknown("it uses functions of dlfcn.h that have no like on Windows")
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


@rule(
    "aligned-memory",
    defect="5b",
    file=_DRIVER_C,
    need="jit",
    why="Windows has _aligned_malloc in place of posix_memalign, and such memory must go back "
    "through _aligned_free. Only tensor maps are affected: what PyKernelArg_free frees is plain "
    "memory. malloc.h declares it, and alloca, which driver.c uses from 3.7 on.",
    removes="unresolved external symbol posix_memalign (and alloca)",
    covers=("5g",),
)
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


@rule(
    "stdatomic",
    defect="5e",
    file=_DRIVER_C,
    need="jit",
    why="driver.c of Triton 3.0 to 3.2 includes stdatomic.h and uses nothing of it. The TinyCC of "
    "older wheels and older MSVC do not have it.",
    removes="include file 'stdatomic.h' not found",
)
def _atomic(source: Source, marker: str) -> str:
    text = source.text
    if "<stdatomic.h>" not in text:
        return absent("stdatomic.h is not included")
    place = text.find("\n#include <stdatomic.h>\n") + 1
    if not place or is_guarded(text, place):
        return fixed("stdatomic.h is not included on Windows")
    if "_Atomic" in text or "atomic_" in text:
        return unknown("it uses stdatomic.h")
    return replaced(
        text,
        "#include <stdatomic.h>\n",
        f"#ifndef _WIN32 /* {marker} */\n#include <stdatomic.h>\n#endif\n",
    )


_HEAD_WHY = (
    "PyObject_HEAD ends in a semicolon of its own. A second one is an empty member of a struct, "
    "which MSVC refuses or warns about."
)


@rule(
    "object-head",
    defect="5f",
    file=_DRIVER_C,
    need="robust",
    why=_HEAD_WHY,
    removes="driver.c: error C2059: syntax error: ';' (MSVC)",
)
@rule(
    "object-head-launcher",
    defect="5f",
    file=_DRIVER_PY,
    need="robust",
    why=_HEAD_WHY,
    removes="__triton_launcher.c: error C2059: syntax error: ';' (MSVC)",
)
@rule(
    "amd-object-head",
    defect="5f",
    file=_AMD_DRIVER_C,
    need="robust",
    why=_HEAD_WHY,
    removes="driver.c: error C2059: syntax error: ';' (MSVC)",
)
@rule(
    "amd-object-head-launcher",
    defect="5f",
    file=_AMD_DRIVER_PY,
    need="robust",
    why=_HEAD_WHY,
    removes="__triton_launcher.c: error C2059: syntax error: ';' (MSVC)",
)
def _object_head(source: Source, marker: str) -> str:
    """The semicolon after PyObject_HEAD, which brings its own, gives way to the marker."""
    found = source.text.count("PyObject_HEAD;")
    if not found:
        if "PyObject_HEAD" in source.text:
            return fixed("no semicolon follows PyObject_HEAD")
        return absent("it defines no type")
    return replaced(source.text, "PyObject_HEAD;", f"PyObject_HEAD /* {marker} */", found)


@rule(
    "compound-literals",
    defect="5h",
    file=_DRIVER_C,
    need="robust",
    why="A table is initialised with compound literals, (Extractor){...}, which are no constants "
    "in C. MSVC refuses them; without the cast they are plain initialisers.",
    removes="driver.c: error C2099: initializer is not a constant (MSVC)",
)
def _literals(source: Source, marker: str) -> str:
    found = len(re.findall(r"\] =\s*\(Extractor\)\{", source.text))
    if not found:
        if "extraction_map[" in source.text:
            return fixed("the table is written without casts")
        return absent("there is no table of extractors")
    if source.text.count("(Extractor){") != found:
        return unknown("(Extractor){ stands in other places too")
    text = substituted(source.text, r"(\] =\s*)\(Extractor\)\{", r"\1{", found)
    table = "Extractor extraction_map["
    return replaced(text, table, f"/* {marker} */\n{table}")


@rule(
    "empty-array",
    defect="5i",
    file=_DRIVER_PY,
    need="robust",
    why="A kernel without parameters makes an array without elements, which MSVC refuses.",
    removes="main.c: error C2466: cannot allocate an array of constant size 0 (MSVC)",
)
def _empty(source: Source, marker: str) -> str:
    text = source.text
    listed = """{{ {', '.join(f"&arg{i}" for i in params)} }};"""
    if "void *params[] = {{" not in text:
        return absent("there is no launcher template")
    if listed not in text:
        return fixed("the list of parameters is never empty")
    return replaced(
        text,
        listed,
        """{{ {', '.join(f"&arg{i}" for i in params) or 'NULL'} }}; /* """ + marker + " */",
    )


# -- GetLastError

_FOUND = re.compile(
    r"\b(?P<pointer>\w+) =\s*(?:\\\n\s*)?\(\w+(?:##\w+)?\)\s*GetProcAddress\("
    r"(?P<between>(?:.{0,200}\n){1,4}?)"
    r"(?P<indent> *)(?:long|int|DWORD) (?P<error>\w+) = GetLastError\(\);(?P<rest>[ \\]*\n *if \()"
    r"(?P<test>(?P=error)(?: != 0)?)(?P<close>\) \{)(?P<blanks> *)"
)
_LAST_ERROR_WHY = (
    "After GetProcAddress, triton-windows asks Windows for the last error instead of looking at "
    "the pointer. An error of any earlier call is still there, so a function that was found is "
    "taken for missing. "
)


@rule(
    "last-error",
    defect="GL",
    file=_DRIVER_C,
    need="jit",
    why=_LAST_ERROR_WHY + "This is the test in driver.c.",
    removes="RuntimeError: Failed to retrieve cuOccupancyMaxActiveClusters from nvcuda.dll",
)
@rule(
    "last-error-launcher",
    defect="GL",
    file=_DRIVER_PY,
    need="jit",
    why=_LAST_ERROR_WHY + "In the launcher this happens at a moment when Python may not be used: "
    "the process dies at the first launch (3.4 to 3.6).",
    removes="exit status 0xC0000005 (access violation) at the first launch of a kernel",
)
def _last_error(source: Source, marker: str) -> str:
    found = source.text.count("= GetLastError();")
    if not found:
        if "HMODULE handle = LoadLibraryA" in source.text:
            return fixed("it looks at the pointer")
        return absent("it is not written for GetProcAddress")
    return substituted(source.text, _FOUND.pattern, lambda m: _better(m, marker), found)


def _better(match: re.Match[str], marker: str) -> str:
    old = f"{match['indent']}long {match['error']} = GetLastError();"
    # as wide as what it replaces, where it can be: a macro's backslashes stay in their column
    comment = f"{match['indent']}/* {marker} */".ljust(len(old))
    start = match[0][: match.start("indent") - match.start()]
    rest = match["rest"]
    if rest.startswith(" ") and "\\" in rest:
        rest = " " * max(0, len(old) + rest.index("\\") - len(comment)) + rest[rest.index("\\") :]
    test = f"!{match['pointer']}"
    blanks = " " * max(0, len(match["blanks"]) + len(match["test"]) - len(test))
    return f"{start}{comment}{rest}{test}{match['close']}{blanks}"


# -- C longs that hold 64-bit numbers

_ARGUMENT = r'"int64_t": "l",(?=[ \t]*(?:#.*)?$)'
_SHAPE = r"(shapeInt\[[^\]\n]{1,80}\] = )PyLong_AsLong\(item\);"


@rule(
    "int64-arguments",
    defect="5j",
    file=_DRIVER_PY,
    need="robust",
    why="64-bit arguments of a kernel are read as a C long, which has 32 bits on Windows.",
    removes="OverflowError: Python int too large to convert to C long",
)
@rule(
    "amd-int64-arguments",
    defect="5j",
    file=_AMD_DRIVER_PY,
    need="robust",
    why="64-bit arguments of a kernel are read as a C long, which has 32 bits on Windows.",
    removes="OverflowError: Python int too large to convert to C long",
)
def _arguments(source: Source, marker: str) -> str:
    if '"int64_t": "' not in source.text:
        return absent("arguments are not read by such a table")
    if '"int64_t": "L"' in source.text:
        return fixed("int64 is read as long long")
    return substituted(source.text, _ARGUMENT, f'"int64_t": "L",  # {marker}')


@rule(
    "tensor-map-shape",
    defect="5k",
    file=_DRIVER_C,
    need="robust",
    why="The shape of a tensor that gets a descriptor is read as a C long, which has 32 bits on "
    "Windows: one dimension of 2^31 elements or more is refused. Strides are read right.",
    removes="OverflowError: Python int too large to convert to C long (then SystemError: ... "
    "returned a result with an exception set)",
)
def _shape(source: Source, marker: str) -> str:
    found = len(re.findall(_SHAPE, source.text))
    if "shapeInt[" not in source.text:
        return absent("it reads no shapes of tensor maps")
    if not found:
        return fixed("shapes are read as long long")
    new = rf"\1PyLong_AsLongLong(item); /* {marker} */"
    return substituted(source.text, _SHAPE, new, found)
