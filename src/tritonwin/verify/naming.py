"""Which known problems explain a rung that did not pass."""

from __future__ import annotations

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.records import CERTAINTIES, Problem
from tritonwin.verify.model import Rung

_OF_WINDOWS = frozenset(check.id for check in CHECKS if check.windows_only)
_MOST = 3  # of what is merely possible, more would say nothing


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
    if any(p.certainty != "possible" for p in said):
        return _ids([p for p in said if p.certainty != "possible"])
    return _ids([*_found_by_doctor(rung, facts), *said])


def _found_by_doctor(rung: Rung, facts: Facts) -> list[Problem]:
    entries = catalogue.load().entries
    return [
        p
        for p in diagnose(facts, CHECKS).problems
        if p.severity == "error" and entries[p.id].layer in rung.layers
    ]


def _ids(problems: list[Problem]) -> tuple[str, ...]:
    ordered = sorted(problems, key=lambda p: CERTAINTIES.index(p.certainty))
    return tuple(dict.fromkeys(p.id for p in ordered))[:_MOST]
