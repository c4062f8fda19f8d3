"""CC, 4, 4p, 4s, SO: how Triton compiles its helper modules and names them."""

from __future__ import annotations

import ast
import re

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, fixed, unknown
from tritonwin.patch.engine import edits

_ARGUMENTS = ["name", "src", "srcdir", "library_dirs", "include_dirs", "libraries"]
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
    if names[:6] != _ARGUMENTS or set(names[6:]) - set(_OPTIONAL):
        return unknown(f"_build takes {', '.join(names) or 'nothing'}")
    arguments = ", ".join([*_ARGUMENTS, *(f"{name}={name}" for name in names[6:])])
    # what the user put in the place of all this comes first
    first = next((each for each in function.body if _IMPLEMENTATION not in ast.unparse(each)), None)
    if first is None:
        return unknown("_build has another form")
    call = _CALL.format(marker=marker, arguments=arguments)
    return payload.appended(source.before(first, call), "windows_build.py", marker)
