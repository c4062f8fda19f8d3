"""AMD: what keeps the HIP backend from working on Windows, as far as it is known."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, calls, fixed, unknown, walk
from tritonwin.patch.engine import edits

_RUNTIME = """\
if os.name == "nt":  # {marker}
    return _tritonwin_hip_runtime()
"""
_LLD = """\
if os.name == "nt" and _tritonwin_lld():  # {marker}
    return _tritonwin_lld()
"""


@edits("amd-temp-files")
def _temporary(source: Source, marker: str) -> str:
    function = source.function("make_hsaco")
    found = [
        c for c in calls(function, "tempfile.NamedTemporaryFile") if not (c.args or c.keywords)
    ]
    if not found:
        return fixed("no open temporary file is opened again")
    changes = [(*source.span(call), "_tritonwin_closed_file()") for call in found]
    return payload.appended(source.spliced(*changes), "closed_file.py", marker)


@edits("amd-lld")
def _lld(source: Source, marker: str) -> str:
    function = source.function("path_to_rocm_lld", absent="the linker is part of libtriton")
    if ".exe" in source.segment(function):
        return fixed("Windows looks for ld.lld.exe")
    beside = [n for n in walk(function, ast.Assign) if "__file__" in ast.unparse(n)]
    if len(beside) != 1:
        return unknown("path_to_rocm_lld has another form")
    edited = source.before(beside[0], _LLD.format(marker=marker))
    return payload.appended(edited, "lld.py", marker)


@edits("amd-runtime")
def _runtime(source: Source, marker: str) -> str:
    function = source.function("_get_path_to_hip_runtime_dylib")
    text = ast.unparse(function)
    if "'/sbin/ldconfig'" not in text or ".dll" in text or "os.name" in text:
        return fixed("Windows looks for amdhip64.dll")
    edited = source.before(function.body[0], _RUNTIME.format(marker=marker))
    return payload.appended(edited, "hip_runtime.py", marker)
