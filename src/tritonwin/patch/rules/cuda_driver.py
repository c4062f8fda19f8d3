"""1, 2, 1b: how driver.py finds the CUDA driver and links against it."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, calls, fixed, unknown, walk
from tritonwin.patch.engine import edits

_FOLDERS = """\
if os.name == "nt":  # {marker}
    return _tritonwin_cuda_folders()
"""


@edits("libcuda-name")
def _name(source: Source, marker: str) -> str:
    assignment = source.assignment("libraries")
    if assignment is None:
        return fixed("what is linked depends on the system")
    value = assignment.value
    if ast.unparse(value) == "['cuda']":
        return fixed("it links 'cuda', which is cuda.lib on Windows")
    if ast.unparse(value) != "['libcuda.so.1']":
        return unknown(f"it links {ast.unparse(value)}")
    new = f"['cuda'] if os.name == \"nt\" else {source.segment(value)}"
    return source.instead_of(value, new, marker)


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


@edits("driver-present")
def _present(source: Source, marker: str) -> str:
    function = source.function(
        "_cuda_driver_is_active", absent="a GPU is found through torch alone"
    )
    if "nvcuda" in source.segment(function):
        return fixed("Windows looks for nvcuda.dll")
    names = [n for n in walk(function, ast.Assign) if ast.unparse(n.targets[0]) == "candidates"]
    if len(names) != 1 or ast.unparse(names[0].value) != "['libcuda.so.1']":
        return unknown("the driver is looked for in another form")
    old = names[0].value
    return source.instead_of(
        old, f'["nvcuda.dll"] if os.name == "nt" else {source.segment(old)}', marker
    )
