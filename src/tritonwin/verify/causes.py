"""Causes of a rung's failure: known problems, and DLLs that could not be loaded."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tritonwin.facts.dlls.loading import module_tree
from tritonwin.facts.dlls.tree import faults
from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.records import CERTAINTIES
from tritonwin.system.files import is_file
from tritonwin.system.host import Host
from tritonwin.verify.records import Rung

_OF_WINDOWS = frozenset(check.id for check in CHECKS if check.terms.windows_only)
_MOST_PROBLEMS = 3  # of what is merely possible, more would say nothing
# Windows names the module that it could not load, never the DLL that is missing below it.
_REFUSED = re.compile(r"DLL load failed|\[WinError (?:126|127|193|1114)\]|0xC0000135|0xC0000139")
_MOST_HINTS = 5


def name_problems(rung: Rung, output: str, facts: Facts) -> tuple[str, ...]:
    """Ids of the catalogue: what `explain` recognises in the output, with these facts.

    Where it is sure of nothing there, what doctor finds in the layers that the rung rests on comes
    first: a program that dies without a word says nothing that could be recognised.
    """
    said = [
        p
        for p in explain_lines(output.splitlines(), facts).problems
        if p.severity != "info" and (facts.windows or p.id not in _OF_WINDOWS)
    ]
    sure = [p for p in said if p.certainty != "possible"]
    found = sure
    if not sure:
        entries, errors = catalogue.load().entries, diagnose(facts, CHECKS).problems
        found = [p for p in errors if p.severity == "error" and entries[p.id].layer in rung.layers]
        found += said
    found.sort(key=lambda p: CERTAINTIES.index(p.certainty))
    return tuple(dict.fromkeys(p.id for p in found))[:_MOST_PROBLEMS]


def dll_hints(rung: Rung, output: str, facts: Facts, host: Host | None = None) -> tuple[str, ...]:
    """Sentences on missing, damaged or outdated DLLs below the modules that the rung loads.

    Empty where no DLL load failed, and elsewhere than on Windows.
    """
    if facts.target is None or not facts.windows or not _REFUSED.search(output):
        return ()
    if host is None:
        if os.name != "nt":  # facts of another machine: its files are not here
            return ()
        host = Host.this_machine()
    # of a rung without packages, Triton's own
    modules = [Path(each.path) for p in rung.packages for each in facts.extensions_of(p)]
    if not rung.packages and facts.triton and facts.triton.libtriton:
        modules.append(Path(facts.triton.libtriton))
    found = dict.fromkeys(
        fault.text
        for file in modules
        if is_file(file)
        for fault in faults(module_tree(file, facts.target, facts.torch, host))
    )
    return tuple(found)[:_MOST_HINTS]
