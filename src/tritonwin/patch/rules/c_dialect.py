"""5b, 5e-5i: C that not every compiler for Windows takes, in driver.c and the launcher."""

from __future__ import annotations

import re

from tritonwin.patch.edits import Source, absent, fixed, is_guarded, replaced, substituted, unknown
from tritonwin.patch.model import Rule

_DRIVER_C = "backends/nvidia/driver.c"
_DRIVER_PY = "backends/nvidia/driver.py"
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


def _edit_aligned(source: Source) -> str:
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
    text = head[:start] + _ALLOCATE.format(marker=ALIGNED.marker) + head[start:]
    return replaced(text + "posix_memalign(" + tail, _FREE, _FREE_BOTH)


def _edit_atomic(source: Source) -> str:
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
        f"#ifndef _WIN32 /* {ATOMIC.marker} */\n#include <stdatomic.h>\n#endif\n",
    )


def _edit_head(source: Source) -> str:
    return object_head(source, HEAD.marker)


def _edit_head_launcher(source: Source) -> str:
    return object_head(source, HEAD_LAUNCHER.marker)


def object_head(source: Source, marker: str) -> str:
    """The semicolon after PyObject_HEAD, which brings its own, gives way to the marker."""
    found = source.text.count("PyObject_HEAD;")
    if not found:
        if "PyObject_HEAD" in source.text:
            return fixed("no semicolon follows PyObject_HEAD")
        return absent("it defines no type")
    return replaced(source.text, "PyObject_HEAD;", f"PyObject_HEAD /* {marker} */", found)


def _edit_literals(source: Source) -> str:
    found = len(re.findall(r"\] =\s*\(Extractor\)\{", source.text))
    if not found:
        if "extraction_map[" in source.text:
            return fixed("the table is written without casts")
        return absent("there is no table of extractors")
    if source.text.count("(Extractor){") != found:
        return unknown("(Extractor){ stands in other places too")
    text = substituted(source.text, r"(\] =\s*)\(Extractor\)\{", r"\1{", found)
    table = "Extractor extraction_map["
    return replaced(text, table, f"/* {LITERALS.marker} */\n{table}")


def _edit_empty(source: Source) -> str:
    text = source.text
    listed = """{{ {', '.join(f"&arg{i}" for i in params)} }};"""
    if "void *params[] = {{" not in text:
        return absent("there is no launcher template")
    if listed not in text:
        return fixed("the list of parameters is never empty")
    return replaced(
        text,
        listed,
        """{{ {', '.join(f"&arg{i}" for i in params) or 'NULL'} }}; /* """ + EMPTY.marker + " */",
    )


ALIGNED = Rule(
    id="aligned-memory",
    defect="5b",
    file=_DRIVER_C,
    need="jit",
    backend="nvidia",
    why="Windows has _aligned_malloc in place of posix_memalign, and such memory must go back "
    "through _aligned_free. Only tensor maps are affected: what PyKernelArg_free frees is plain "
    "memory. malloc.h declares it, and alloca, which driver.c uses from 3.7 on.",
    removes="unresolved external symbol posix_memalign (and alloca)",
    edit=_edit_aligned,
    covers=("5g",),
)

ATOMIC = Rule(
    id="stdatomic",
    defect="5e",
    file=_DRIVER_C,
    need="jit",
    backend="nvidia",
    why="driver.c of Triton 3.0 to 3.2 includes stdatomic.h and uses nothing of it. The TinyCC of "
    "older wheels and older MSVC do not have it.",
    removes="include file 'stdatomic.h' not found",
    edit=_edit_atomic,
)

_HEAD_WHY = (
    "PyObject_HEAD ends in a semicolon of its own. A second one is an empty member of a struct, "
    "which MSVC refuses or warns about."
)
HEAD = Rule(
    id="object-head",
    defect="5f",
    file=_DRIVER_C,
    need="robust",
    backend="nvidia",
    why=_HEAD_WHY,
    removes="driver.c: error C2059: syntax error: ';' (MSVC)",
    edit=_edit_head,
)

HEAD_LAUNCHER = Rule(
    id="object-head-launcher",
    defect="5f",
    file=_DRIVER_PY,
    need="robust",
    backend="nvidia",
    why=_HEAD_WHY,
    removes="__triton_launcher.c: error C2059: syntax error: ';' (MSVC)",
    edit=_edit_head_launcher,
)

LITERALS = Rule(
    id="compound-literals",
    defect="5h",
    file=_DRIVER_C,
    need="robust",
    backend="nvidia",
    why="A table is initialised with compound literals, (Extractor){...}, which are no constants "
    "in C. MSVC refuses them; without the cast they are plain initialisers.",
    removes="driver.c: error C2099: initializer is not a constant (MSVC)",
    edit=_edit_literals,
)

EMPTY = Rule(
    id="empty-array",
    defect="5i",
    file=_DRIVER_PY,
    need="robust",
    backend="nvidia",
    why="A kernel without parameters makes an array without elements, which MSVC refuses.",
    removes="main.c: error C2466: cannot allocate an array of constant size 0 (MSVC)",
    edit=_edit_empty,
)
