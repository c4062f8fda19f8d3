"""nvcuda.dll for Wine that passes every call of CUDA's driver API on to Linux' libcuda.so.1.

The functions are those of the `cuda.h` files given (each Triton wheel carries one). All that is
passed on takes only integers and pointers and returns a CUresult, so one 64-bit slot an argument
is enough: a thunk takes them in Windows' calling convention and passes them on in that of Linux.
Structures go by pointer and have one layout on both systems.

Left out are functions that take a callback (Linux code cannot call Windows code), a float or a
structure by value, or that hand out function pointers: cuGetExportTable, which cudart asks for, so
CUDA builds of torch do not run on this. cuGetProcAddress answers from the relay's own functions.

Built with winegcc and winebuild of the lane's unpacked Wine, and with the system's gcc.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winlane.errors import LaneUnavailable
from winlane.wine import Wine, run

# what the lane's stand-in for the driver exports, and a relay to it must: verify/rungs/device.py
STAND_IN = "tritonwin_stand_in"
LIBRARY_VARIABLE = "RELAY_LIBCUDA"  # the Linux library to load in place of libcuda.so.1
_NOT_INITIALIZED, _NOT_FOUND = 3, 500  # CUDA_ERROR_*

_PROTOTYPE = re.compile(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{}]*)\)\s*;")
_BY_VALUE = re.compile(
    r"\b(float|double|CUipcMemHandle|CUipcEventHandle|CUoccupancyB2DSize|CUhostFn|CUstreamCallback"
    r"|CUlogsCallback|CUasyncCallback)\b(?![^,]*\*)"
)
_OWN_ANSWER = {"cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable"}

_HEAD = f"""\
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define WINDOWS __attribute__((ms_abi, force_align_arg_pointer))
typedef uint64_t Slot;

static void *library(void) {{
    static void *handle;
    const char *path = getenv("{LIBRARY_VARIABLE}");
    if (!handle) handle = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
    return handle;
}}

static void *find(void **slot, const char *name) {{
    if (!*slot && library()) *slot = dlsym(library(), name);
    return *slot;
}}
"""
_TAIL = f"""\
/* Without a version in its name a function's newest form is meant. */
int WINDOWS relay_cuGetProcAddress_v2(const char *name, void **out, int version, Slot flags,
                                      int *status) {{
    static const char *const suffixes[] = {{ "_v4", "_v3", "_v2", "" }};
    char full[160];
    unsigned i, s;
    (void)version; (void)flags;
    for (s = 0; s < sizeof suffixes / sizeof *suffixes; s++) {{
        if (strlen(name) + 4 >= sizeof full) break;
        strcat(strcpy(full, name), suffixes[s]);
        for (i = 0; i < sizeof table / sizeof *table; i++)
            if (!strcmp(table[i].name, full)) {{
                *out = table[i].function;
                if (status) *status = 0;
                return 0;
            }}
    }}
    *out = 0;
    if (status) *status = 1;
    return {_NOT_FOUND};
}}
"""


@dataclass(frozen=True)
class Function:
    name: str
    arguments: int


@dataclass(frozen=True)
class Relay:
    """The two files of a built-in DLL: Wine's `.dll.so` and the stub that stands in System32."""

    library: Path
    stub: Path


def functions(preprocessed: Iterable[str]) -> tuple[Function, ...]:
    """The functions that can be passed on, from each cuda.h as the C preprocessor leaves it.

    Raises:
        ValueError: two headers disagree about a function's arguments.
    """
    found: dict[str, Function] = {}
    for text in preprocessed:
        for name, arguments in _PROTOTYPE.findall(text):
            if name in _OWN_ANSWER or _BY_VALUE.search(arguments):
                continue
            count = 0 if arguments.strip() in {"", "void"} else arguments.count(",") + 1
            function = Function(name, count)
            if found.setdefault(name, function) != function:
                raise ValueError(f"{name} takes {found[name].arguments} or {count} arguments")
    return tuple(found.values())


def c_source(relayed: Iterable[Function], *, stand_in: bool = False) -> str:
    relayed = (*relayed, *([Function(STAND_IN, 0)] if stand_in else []))
    rows = "".join(f'    {{ "{f.name}", (void *)relay_{f.name} }},\n' for f in relayed)
    table = f"static const struct {{ const char *name; void *function; }} table[] = {{\n{rows}}};\n"
    return _HEAD + "".join(map(_thunk, relayed)) + table + _TAIL


def _thunk(function: Function) -> str:
    names = [f"a{i}" for i in range(function.arguments)]
    taken = ", ".join(f"Slot {name}" for name in names) or "void"
    kinds = ", ".join("Slot" for _ in names) or "void"
    missing = _NOT_INITIALIZED if function.name == "cuInit" else _NOT_FOUND
    return (
        f"int WINDOWS relay_{function.name}({taken}) {{\n    static void *f;\n"
        f'    if (!find(&f, "{function.name}")) return {missing};\n'
        f"    return ((int (*)({kinds}))f)({', '.join(names)});\n}}\n"
    )


def spec(relayed: Iterable[Function], *, stand_in: bool = False) -> str:
    """The exports in winebuild's language; `stand_in` marks the driver as one that computes not."""
    exported = [*relayed, Function("cuGetProcAddress_v2", 5)]
    exported += [Function(STAND_IN, 0)] if stand_in else []
    return "".join(
        f"@ stdcall {f.name}({' '.join(['int64'] * f.arguments)}) relay_{f.name}\n"
        for f in exported
    )


def build(wine: Wine, headers: Iterable[Path], folder: Path, *, stand_in: bool = False) -> Relay:
    """Make the DLL in `folder`; with `stand_in` the one for rehearsals with the lane's driver."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise LaneUnavailable("the relay needs gcc: apt-get install gcc")
    relayed = functions(run(gcc, "-E", "-P", header).stdout for header in headers)
    source, exports, objects = (folder / f"nvcuda.{kind}" for kind in ("c", "spec", "o"))
    source.write_text(c_source(relayed, stand_in=stand_in))
    exports.write_text(spec(relayed, stand_in=stand_in))
    run(gcc, "-c", "-O2", "-fPIC", source, "-o", objects)
    made = Relay(folder / "nvcuda.dll.so", folder / "nvcuda.dll")
    tools, libraries = wine.tree / "lib" / "wine", wine.dlls / "x86_64-unix"
    run(tools / "winegcc", f"-B{tools}", "-shared", exports, objects, f"-L{libraries}", "-ldl",
        "-o", made.library)  # fmt: skip
    # without this stub in System32 ctypes and GetProcAddress do not find the DLL
    run(tools / "winebuild", "--dll", "--fake-module", "-E", exports, "-o", made.stub)
    return made


def fake_libcuda(folder: Path) -> Path:
    """The lane's stand-in driver as a Linux library, for rehearsals: it never runs a kernel."""
    from winlane.resources import HERE

    library = folder / "libcuda.so.1"
    run("gcc", "-O2", "-shared", "-fPIC", "-o", library, HERE / "fakes" / "nvcuda.c")
    return library
