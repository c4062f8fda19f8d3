"""1: where driver.py looks for what it links against."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, calls, fixed, unknown
from tritonwin.patch.engine import edits

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
