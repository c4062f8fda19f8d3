"""R, LP: files of Triton's cache."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, calls, fixed, unknown
from tritonwin.patch.engine import edits

_REPLACE = """\
try:
    {replace}
except PermissionError:  # {marker}
    if os.name != "nt" or not os.path.exists(filepath):
        raise
    os.remove(temp_path)
"""
_JOIN = "self.cache_dir = os.path.join(self.cache_dir, self.key)"


@edits("cache-replace")
def _replace(source: Source, marker: str) -> str:
    function = source.function("put", "FileCacheManager", absent="there is no FileCacheManager")
    if "except PermissionError" in source.segment(function):
        return fixed("a file that another process holds is left to it")
    found = [s for s in function.body if calls(s, "os.replace")]
    if len(found) != 1 or source.segment(found[0]) != "os.replace(temp_path, filepath)":
        return unknown("put has another form")
    statement = found[0]
    text = _REPLACE.format(marker=marker, replace=source.segment(statement))
    return source.instead(statement, text)


@edits("long-paths")
def _long(source: Source, marker: str) -> str:
    function = source.function(
        "__init__", "FileCacheManager", absent="there is no FileCacheManager"
    )
    if "normalize_path" in source.text:
        return fixed("its paths may be long")
    joins = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and ast.unparse(n) == _JOIN]
    if len(joins) != 3 or source.segment(function).count(_JOIN) != 3:
        return unknown("the folder of an entry is put together in another form")
    changes = []
    for join in joins:
        start, end = source.line_ends(join.value)
        new = f"_tritonwin_long_path({source.text[start:end]})  # {marker}"
        changes.append((start, end, new))
    return payload.appended(source.spliced(*changes), "long_path.py", marker)
