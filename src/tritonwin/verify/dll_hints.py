"""Which DLL it is, where a program of a rung could not load a compiled module."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tritonwin.facts.dlls.loading import module_loading
from tritonwin.facts.dlls.tree import faults
from tritonwin.facts.records import Facts
from tritonwin.system.files import is_file
from tritonwin.system.host import Host
from tritonwin.verify.model import Rung

# Windows names the module that it could not load, never the DLL that is missing below it.
_REFUSED = re.compile(r"DLL load failed|\[WinError (?:126|127|193|1114)\]|0xC0000135|0xC0000139")
_MOST = 5


def dll_hints(rung: Rung, output: str, facts: Facts, host: Host | None = None) -> tuple[str, ...]:
    """What is missing, damaged or too old below the modules that the rung loads, in sentences.

    Empty where no DLL load failed, and elsewhere than on Windows.
    """
    if facts.target is None or not facts.windows or not _REFUSED.search(output):
        return ()
    if host is None:
        if os.name != "nt":  # facts of another machine: its files are not here
            return ()
        host = Host.this_machine()
    found = dict.fromkeys(
        fault.text
        for file in _modules(rung, facts)
        if is_file(file)
        for fault in faults(module_loading(file, facts.target, facts.torch, host).tree)
    )
    return tuple(found)[:_MOST]


def _modules(rung: Rung, facts: Facts) -> Iterator[Path]:
    """Those of the rung's packages; of a rung without any, Triton's own."""
    for package in rung.packages:
        yield from (Path(extension.path) for extension in facts.extensions_of(package))
    if not rung.packages and facts.triton and facts.triton.libtriton:
        yield Path(facts.triton.libtriton)
