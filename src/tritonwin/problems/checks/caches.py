"""The caches of Triton and torch.compile: can they be written, and what in them is of no use?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PureWindowsPath

from tritonwin.facts.records import Facts, HelperModule, Interpreter
from tritonwin.problems.check import (
    Seen,
    check,
    need,
    need_target,
    need_triton,
    python_series,
    seen,
)
from tritonwin.support.versions import fits

_UTF_8 = 65001  # Windows' number for it as a code page


# Variables with a path that Triton 3.5 and later ask C for before the first kernel.
_READ_THROUGH_C = (
    "TRITON_CACHE_DIR",
    "TRITON_HOME",
    "TRITON_LIBDEVICE_PATH",
    "TRITON_LIBCUDA_PATH",
    "TRITON_CUDACRT_PATH",
    "TRITON_CUDART_PATH",
)


@check("triton-home-not-writable")
def cache_not_writable(facts: Facts) -> Iterator[Seen]:
    temp = facts.system.temp
    # a folder that can surely be written to; Triton 3.5 and later decode variables as UTF-8, which
    # Windows' code page is not
    other = str(PureWindowsPath(temp, "triton")) if facts.windows and temp else ""
    for cache in facts.caches:
        if cache.writable is False:
            yield seen(
                f"the {cache.kind} cache cannot be written: {cache.error or 'access denied'}",
                cache.path,
                cache=cache.path,
                path=cache.path,
                new_value=other if other.isascii() and cache.kind == "triton" else None,
            )


@check("triton-variable-not-ascii")
def variable_not_ascii(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    asks = fits(triton.version or "", ">=3.5")
    need(asks, "only Triton 3.5 and later ask C for their variables")
    need(facts.system.ansi_code_page != _UTF_8, "the code page of Windows is UTF-8")
    for name in _READ_THROUGH_C:
        variable = facts.variable(name)
        # the home folder is read for dumps alone where the cache has a place of its own
        unread = name == "TRITON_HOME" and facts.variable("TRITON_CACHE_DIR")
        if variable and not variable.value.isascii() and not unread:
            yield seen(
                f'{name} is "{variable.value}"; C gives it in the code page of Windows, and '
                f"Triton {triton.version} reads that as UTF-8",
                variable,
            )


@check("stale-helper-module")
def stale_helper(facts: Facts) -> Iterator[Seen]:
    dll = python_dll(need_target(facts))
    for cache in facts.caches:
        for helper in cache.helpers:
            if helper.usable and (reason := stale_reason(helper, dll)):
                yield seen(
                    f"a helper module in the {cache.kind} cache {reason}",
                    helper.path,
                    cache=cache.path,
                    path=helper.path,
                )


def python_dll(target: Interpreter) -> str:
    """The DLL that modules for this interpreter are linked with: "python312.dll"."""
    threads = "t" if target.free_threaded else ""
    return f"python{python_series(target).replace('.', '')}{threads}.dll"


def stale_reason(helper: HelperModule, dll: str) -> str | None:
    """The reason for which a Python of that DLL cannot load the module, or None."""
    if not helper.valid:
        return "is damaged"
    # python3.dll is the stable interface, which fits every version
    if helper.python_dll and helper.python_dll.lower() not in {dll, "python3.dll"}:
        return f"was built for {helper.python_dll}, this Python has {dll}"
    if helper.unresolved:
        return f"needs {helper.unresolved[0]}, which was found nowhere"
    return None
