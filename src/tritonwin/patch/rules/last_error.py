"""GL: triton-windows up to 3.7.0 takes an old error of the thread for a failure."""

from __future__ import annotations

import re

from tritonwin.patch.edits import Source, absent, fixed, substituted
from tritonwin.patch.model import Rule

_FOUND = re.compile(
    r"\b(?P<pointer>\w+) =\s*(?:\\\n\s*)?\(\w+(?:##\w+)?\)\s*GetProcAddress\("
    r"(?P<between>(?:.{0,200}\n){1,4}?)"
    r"(?P<indent> *)(?:long|int|DWORD) (?P<error>\w+) = GetLastError\(\);(?P<rest>[ \\]*\n *if \()"
    r"(?P<test>(?P=error)(?: != 0)?)(?P<close>\) \{)(?P<blanks> *)"
)
_WHY = (
    "After GetProcAddress, triton-windows asks Windows for the last error instead of looking at "
    "the pointer. An error of any earlier call is still there, so a function that was found is "
    "taken for missing. "
)


def _edit_driver(source: Source) -> str:
    return _edit(source, DRIVER.marker)


def _edit_launcher(source: Source) -> str:
    return _edit(source, LAUNCHER.marker)


def _edit(source: Source, marker: str) -> str:
    found = source.text.count("= GetLastError();")
    if not found:
        if "HMODULE handle = LoadLibraryA" in source.text:
            return fixed("it looks at the pointer")
        return absent("it is not written for GetProcAddress")
    return substituted(source.text, _FOUND.pattern, lambda m: _better(m, marker), found)


def _better(match: re.Match[str], marker: str) -> str:
    old = f"{match['indent']}long {match['error']} = GetLastError();"
    # as wide as what it replaces, where it can be: a macro's backslashes stay in their column
    comment = f"{match['indent']}/* {marker} */".ljust(len(old))
    start = match[0][: match.start("indent") - match.start()]
    rest = match["rest"]
    if rest.startswith(" ") and "\\" in rest:
        rest = " " * max(0, len(old) + rest.index("\\") - len(comment)) + rest[rest.index("\\") :]
    test = f"!{match['pointer']}"
    blanks = " " * max(0, len(match["blanks"]) + len(match["test"]) - len(test))
    return f"{start}{comment}{rest}{test}{match['close']}{blanks}"


DRIVER = Rule(
    id="last-error",
    defect="GL",
    file="backends/nvidia/driver.c",
    need="jit",
    backend="nvidia",
    why=_WHY + "This is the test in driver.c.",
    removes="RuntimeError: Failed to retrieve cuOccupancyMaxActiveClusters from nvcuda.dll",
    edit=_edit_driver,
)

LAUNCHER = Rule(
    id="last-error-launcher",
    defect="GL",
    file="backends/nvidia/driver.py",
    need="jit",
    backend="nvidia",
    why=_WHY + "In the launcher this happens at a moment when Python may not be used: the process "
    "dies at the first launch (3.4 to 3.6).",
    removes="exit status 0xC0000005 (access violation) at the first launch of a kernel",
    edit=_edit_launcher,
)
