"""Facts to problems: run the checks, fold consequences under causes, put the root first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.advice import advise
from tritonwin.problems.check import Check, NotApplicable
from tritonwin.problems.records import (
    CERTAINTIES,
    SEVERITIES,
    CheckResult,
    CheckState,
    Diagnosis,
    Finding,
    Problem,
)

_STATES: dict[str, CheckState] = {"error": "problem", "warning": "warning", "info": "info"}


def diagnose(facts: Facts, checks: Sequence[Check]) -> Diagnosis:
    """Run the checks over the facts. A check that raises becomes a result, never an error."""
    results: list[CheckResult] = []
    findings: list[Finding] = []
    for check in checks:
        result, found = _run(check, facts)
        results.append(result)
        findings.extend(found)
    return Diagnosis(problems=problems_of(findings, facts), checks=tuple(results))


def problems_of(
    findings: Iterable[Finding], facts: Facts, rank: Callable[[Problem], Rank] | None = None
) -> tuple[Problem, ...]:
    """Findings in words, one problem an id, in order and folded; `facts` fill the words."""
    problems = [advise(found, facts) for found in merge(findings)]
    return fold(problems, rank or by_layer)


def findings_of(facts: Facts, checks: Sequence[Check]) -> Iterable[Finding]:
    """The findings of the checks; those that do not apply or fail find nothing."""
    for check in checks:
        yield from _run(check, facts)[1]


def _run(check: Check, facts: Facts) -> tuple[CheckResult, tuple[Finding, ...]]:
    state: CheckState = "ok"
    detail = ""
    found: tuple[Finding, ...] = ()
    try:
        found = check.findings(facts)
    except NotApplicable as reason:
        state, detail = "not-applicable", str(reason)
    except Exception as error:  # noqa: BLE001 - the other checks must still run
        state, detail = "crashed", f"{type(error).__name__}: {error}"
    if found:
        severities = [f.severity or catalogue.load().entry(f.id).severity for f in found]
        state = _STATES[min(severities, key=SEVERITIES.index)]
        detail = found[0].evidence[0].text
    return CheckResult(id=check.id, title=check.terms.title, state=state, detail=detail), found


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding an id: the evidence of all, the gravest severity, the greatest certainty."""
    groups: dict[str, list[Finding]] = {}
    for found in findings:
        groups.setdefault(found.id, []).append(found)
    return tuple(_merged(group) if len(group) > 1 else group[0] for group in groups.values())


def _merged(group: Sequence[Finding]) -> Finding:
    usual = catalogue.load().entry(group[0].id).severity
    return replace(
        group[0],
        evidence=tuple(dict.fromkeys(e for found in group for e in found.evidence)),
        severity=min((f.severity or usual for f in group), key=SEVERITIES.index),
        certainty=min((f.certainty for f in group), key=CERTAINTIES.index),
        values={name: v for found in reversed(group) for name, v in found.values.items()},
    )


Rank = tuple[int, ...]


def by_layer(problem: Problem) -> Rank:
    """Severity first, then from the ground up: facts are mostly certain."""
    layer = catalogue.load().entry(problem.id).layer
    severity, *rest = by_certainty(problem)
    return severity, catalogue.LAYERS.index(layer), *rest


def by_certainty(problem: Problem) -> Rank:
    """Severity first, then what is proven: a log leaves much open."""
    position = list(catalogue.load().entries).index(problem.id)
    severity, certainty = problem.severity, problem.certainty
    return SEVERITIES.index(severity), CERTAINTIES.index(certainty), position


def fold(
    problems: Sequence[Problem], rank: Callable[[Problem], Rank] = by_layer
) -> tuple[Problem, ...]:
    """Order the problems, and put the consequences of an error below its cause.

    A problem is folded when another one that is at least as grave, at least as certain and not
    itself folded into it explains it; the ids go into the cause's `explains`, restricted to what
    was really found. What is merely possible folds nothing: both are shown, and what decides.
    """
    ordered = sorted(problems, key=rank)
    present = {p.id: p for p in ordered}
    folded: set[str] = set()
    kept: list[Problem] = []
    for problem in ordered:
        if problem.id in folded:
            continue
        consequences = [
            i
            for i in _reachable(problem.id)
            if problem.certainty != "possible"
            and i in present
            and i not in folded
            and SEVERITIES.index(problem.severity) <= SEVERITIES.index(present[i].severity)
            and CERTAINTIES.index(problem.certainty) <= CERTAINTIES.index(present[i].certainty)
        ]
        folded.update(consequences)
        kept = [k for k in kept if k.id not in folded]
        kept.append(replace(problem, explains=tuple(consequences)))
    return tuple(kept)


def _reachable(problem: str) -> tuple[str, ...]:
    """Everything that the problem explains, directly or through others, nearest first."""
    entries = catalogue.load().entries
    waiting = list(entries[problem].explains)
    for current in waiting:  # which grows
        waiting += [each for each in entries[current].explains if each not in waiting]
    return tuple(waiting)
