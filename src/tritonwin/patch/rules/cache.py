"""R, LP: files of Triton's cache."""

from __future__ import annotations

import ast

from tritonwin.patch import payload
from tritonwin.patch.edits import Source, fixed, unknown
from tritonwin.patch.engine import edits

_JOIN = "self.cache_dir = os.path.join(self.cache_dir, self.key)"


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
