"""6, TO: triton.tools.build_extern, which makes stubs of a bitcode library."""

from __future__ import annotations

from tritonwin.patch.edits import Source, calls, fixed, unknown
from tritonwin.patch.engine import edits

_GREP = 'output = subprocess.check_output(["grep", "define", input_file]).decode().splitlines()'
_READ = """\
with open(input_file, encoding="utf-8") as f:  # {marker}
    output = [line for line in f.read().splitlines() if "define" in line]
"""


@edits("extern-grep")
def _grep(source: Source, marker: str) -> str:
    function = source.function("parse_symbols", "Libdevice")
    found = [s for s in function.body if calls(s, "subprocess.check_output")]
    if not found:
        return fixed("it does not call grep")
    if len(found) != 1 or source.segment(found[0]) != _GREP:
        return unknown("grep is called in another form")
    return source.instead(found[0], _READ.format(marker=marker))
