"""Edits that look at the structure of a source; those of text alone are steps in `rules.toml`."""

from __future__ import annotations

import ast
import re

from tritonwin.patch import payload
from tritonwin.patch.edits import (
    Source,
    absent,
    calls,
    fixed,
    is_guarded,
    substituted,
    unknown,
    walk,
)
from tritonwin.patch.engine import edits

# -- ptxas: which one is started and how, and its files

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
_LISTED = """\
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
    text = _LISTED.format(marker=marker, run=source.segment(statement))
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


# -- where driver.py looks for what it links against

_FOLDERS = """\
if os.name == "nt":  # {marker}
    return _tritonwin_cuda_folders()
"""


@edits("libcuda-folder")
def _folder(source: Source, marker: str) -> str:
    function = source.function("libcuda_dirs")
    statements = [
        node
        for node in function.body
        if any("/sbin/ldconfig" in ast.unparse(c) for c in calls(node, "subprocess.check_output"))
    ]
    if not statements:
        return fixed("ldconfig is not called")
    if any("os.name" in ast.unparse(node) for node in function.body):
        return fixed("ldconfig is not called on Windows")
    if len(statements) != 1:
        return unknown("ldconfig is called in another form")
    edited = source.before(statements[0], _FOLDERS.format(marker=marker))
    return payload.appended(edited, "cuda_folders.py", marker)


# -- how helper modules are compiled

_PARAMETERS = ["name", "src", "srcdir", "library_dirs", "include_dirs", "libraries"]
_IMPLEMENTATION = "knobs.build.impl"
_OPTIONAL = ("ccflags", "language")
_CALL = """\
if os.name == "nt":  # {marker}
    return _tritonwin_build({arguments})
"""


@edits("windows-build")
def _build(source: Source, marker: str) -> str:
    function = source.function("_build")
    if re.search(r"\bis_msvc\(|\bis_tcc\(|\bfind_msvc", source.text):
        return fixed("it has a command line for Windows")
    if '"-shared"' not in source.segment(function) or "os.name" in source.segment(function):
        return unknown("_build has another form")
    names = [argument.arg for argument in function.args.args]
    if names[:6] != _PARAMETERS or set(names[6:]) - set(_OPTIONAL):
        return unknown(f"_build takes {', '.join(names) or 'nothing'}")
    arguments = ", ".join([*_PARAMETERS, *(f"{name}={name}" for name in names[6:])])
    # what the user put in the place of all this comes first
    first = next((each for each in function.body if _IMPLEMENTATION not in ast.unparse(each)), None)
    if first is None:
        return unknown("_build has another form")
    call = _CALL.format(marker=marker, arguments=arguments)
    return payload.appended(source.before(first, call), "windows_build.py", marker)


# -- dlfcn.h

# The pointer that GetProcAddress returns says whether it succeeded. GetLastError does not: it
# may hold an old error, and triton-windows 3.4 to 3.6 crash for having asked it.


def shim(marker: str, *, in_f_string: bool = False) -> str:
    """For C; in a Python f-string its braces are doubled: there is no backslash in it."""
    text = payload.text("dlfcn.h").replace("{marker}", marker)
    return text.replace("{", "{{").replace("}", "}}") if in_f_string else text


_INCLUDE = r"^#include <dlfcn\.h>\n"


@edits("dlfcn", "amd-dlfcn", "dlfcn-launcher", "amd-dlfcn-launcher")
def _dlfcn(source: Source, marker: str) -> str:
    """The shim in the place of the first include line; the others go."""
    text, launcher, amd = source.text, marker.endswith("-launcher"), "amd" in marker
    if launcher and ("def make_launcher" not in text or (amd and "<dlfcn.h>" not in text)):
        return absent("there is no launcher template: driver.c launches")
    includes = re.finditer(r"^[ \t]*#[ \t]*include\s*<dlfcn\.h>", text, re.MULTILINE)
    if all(is_guarded(text, include.start()) for include in includes):
        return fixed("dlfcn.h is not included on Windows")
    if "dladdr" in text or "dlvsym" in text:
        return unknown("it uses functions of dlfcn.h that Windows does not have")
    shims = iter([shim(marker, in_f_string=launcher)])
    return substituted(text, _INCLUDE, lambda _: next(shims, ""), 2 if launcher and amd else 1)


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
    return (text + "posix_memalign(" + tail).replace(_FREE, _FREE_BOTH)
