"""What the files that a log names show on the machine where it is explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tritonwin.facts.dlls.faults import faults
from tritonwin.facts.dlls.loading import dll_tree
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.problems.explain.explain import Explanation
from tritonwin.problems.model import Evidence, Problem
from tritonwin.system.files import is_file
from tritonwin.system.host import Host

# torch and ctypes quote the file: Error loading "C:\...\shm.dll" or one of its dependencies.
_NAMED = re.compile(r"""["']([A-Za-z]:\\[^"'<>|]{1,400}\.(?:dll|pyd))["']""", re.IGNORECASE)
_REFUSED = re.compile(r"WinError (?:126|127|193|1114)|DLL load failed|Could not find module")
_MOST = 3


def with_dlls(explanation: Explanation, host: Host) -> Explanation:
    """The explanation with what is missing below each DLL that would not load, as evidence.

    For a log of this machine: files that are not here are passed over.
    """
    return replace(explanation, problems=tuple(_with_dlls(p, host) for p in explanation.problems))


def _with_dlls(problem: Problem, host: Host) -> Problem:
    seen = tuple(dict.fromkeys(e for each in problem.evidence for e in _below(each, host)))
    return replace(problem, evidence=(*problem.evidence, *seen[:_MOST]))


def _below(evidence: Evidence, host: Host) -> Iterator[Evidence]:
    if not _REFUSED.search(evidence.text):
        return
    for name in _NAMED.findall(evidence.text):
        file = Path(name.replace("\\\\", "\\"))
        if is_file(file) and read_pe(file) is not None:
            tree = dll_tree(file, host).tree
            yield from (Evidence(text=fault.text, where=str(file)) for fault in faults(tree))
