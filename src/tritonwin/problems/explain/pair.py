"""torch and Triton as far as a log tells their versions: the checks of the pair, and its names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from packaging.version import Version

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.advice import pairs
from tritonwin.problems.conditions import value_of
from tritonwin.problems.doctor import findings_of
from tritonwin.problems.explain.log_facts import SOURCE, LogFacts, Match
from tritonwin.problems.records import CERTAINTIES, Evidence, Finding
from tritonwin.support import matrix
from tritonwin.support.versions import series
from tritonwin.system.toml import read_resource

# what the checks rest on that need no more
_VERSIONS = ("torch", "triton", "setuptools", "override_arch")
_FIRST_FOR_WINDOWS = Version("3.0")  # older ones are builds of single people

# how an error names a part of Triton: a section of the table, the error, the key in the section
_ERRORS = tuple(
    (section, re.compile(error), key)
    for section, error, key in (
        ("names", r"cannot import name '(\w+)' from '(triton[\w.]*)'", r"\2:\1"),
        ("modules", r"No module named '(triton\.[\w.]+)'", r"\1"),
        ("names", r"module '(triton[\w.]*)' has no attribute '(\w+)'", r"\1:\2"),
        ("attributes", r"(?:type object )?'(\w+)' (?:object )?has no attribute '(\w+)'", r"\1.\2"),
        ("parameters", r"([\w.]{1,99})\(\) got an unexpected keyword argument '(\w+)'", r"\1(\2)"),
        ("dataclasses", r"\bfields\((\w+)\)", r"\1"),
    )
)


@dataclass(frozen=True)
class NameTable:
    """`triton_names.toml`: the names of Triton that some torch asks for and some Triton lacks.

    A row is from series of torch to the series of Triton with which they stop at the name: "2.6
    2.7" to "3.3 3.4". For attributes and parameters it is an upper bound: torch uses the name
    somewhere.
    """

    modules: dict[str, dict[str, str]]
    names: dict[str, dict[str, str]]
    attributes: dict[str, dict[str, str]]
    parameters: dict[str, dict[str, str]]
    dataclasses: dict[str, dict[str, str]]


@cache
def names() -> NameTable:
    """The table as shipped."""
    return read_resource(__package__, "triton_names.toml", NameTable)


def lacking_series(error: str) -> dict[str, tuple[str, ...]]:
    """The series of torch to the series of Triton with which they stop with this error."""
    for section, form, key in _ERRORS:
        for hit in form.finditer(error):
            if row := getattr(names(), section).get(hit.expand(key)):
                return {
                    torch: tuple(tritons.split())
                    for torches, tritons in row.items()
                    for torch in torches.split()
                }
    return {}


def of_versions(log: LogFacts, facts: Facts) -> Iterator[Finding]:
    """The findings of the checks that need no more than versions, where the log tells any.

    A log may name the versions of another environment, so none is certain. What a snapshot alone
    shows is no finding of the log.
    """
    from tritonwin.problems.checks import of_versions as checks_of_versions

    told = {name: log.stated[name][-1] for name in _VERSIONS if name in log.stated}
    if not told:
        return
    for found in findings_of(facts, checks_of_versions()):
        at_best = catalogue.load().checks[found.id].of_versions or "possible"
        certainty = max(found.certainty, at_best, key=CERTAINTIES.index)
        yield replace(found, certainty=certainty, evidence=tuple(_quoted(found.evidence, told)))


def _quoted(evidence: tuple[Evidence, ...], told: Mapping[str, Match]) -> Iterator[Evidence]:
    for each in evidence:
        said = [m.line for name, m in told.items() if m.groups[name] in each.text]
        where = " and ".join(f"line {line}" for line in sorted(said))
        of_log = each.where == SOURCE or each.where.startswith("variable ")
        yield replace(each, where=where) if of_log and where else each


PAIR = frozenset({"torch-too-old-for-triton", "triton-too-new-for-torch", "triton-too-old"})


def with_names(findings: Iterable[Finding], log: LogFacts, facts: Facts) -> list[Finding]:
    """Findings of a log, and those about the pair from the parts of Triton that its errors miss.

    What the versions contradict is left open; an error in another package is not torch's.
    """
    if value_of("amd", facts) == "zluda":
        return list(findings)  # its own Triton belongs to no torch of the table
    named = dict(_of_names(log, facts))
    refuted = {where for where, found in named.items() if not found}
    others = _places(f for f in findings if f.values.get("package", "torch") != "torch")
    both = [
        replace(f, certainty="possible") if f.id in PAIR and refuted & _places([f]) else f
        for f in findings
    ]
    both += [f for where, found in named.items() if where not in others for f in found]
    known = _places(f for f in both if f.id in PAIR and f.certainty != "possible")
    return [
        f for f in both if f.id not in PAIR or f.certainty != "possible" or not known & _places([f])
    ]


def _places(findings: Iterable[Finding]) -> set[str]:
    return {each.where for found in findings for each in found.evidence}


def _of_names(log: LogFacts, facts: Facts) -> Iterator[tuple[str, list[Finding]]]:
    """The places of errors that miss a part of Triton, with the pairs' problems; none where no pair
    is stated or can be.
    """
    for match in log.stated.get("missing", ()):
        if not (stopping := lacking_series(match.groups["missing"])):
            continue
        possible = _possible(stopping, facts)
        verdicts = {_verdict(torch, triton) for torch, triton in possible}
        found = Finding(
            id="",
            evidence=(match.evidence,),
            certainty="likely" if len(verdicts) == 1 else "possible",
            values={}
            if facts.torch
            else {"torch_pairs": pairs(facts.windows, {torch for torch, _ in possible})},
        )
        yield match.evidence.where, [replace(found, id=problem) for problem in sorted(verdicts)]


def _possible(stopping: Mapping[str, tuple[str, ...]], facts: Facts) -> frozenset[tuple[str, str]]:
    """The pairs that stop at the name and do not contradict the facts.

    A torch that would stop with its own Triton does not stop at the name: it asks for it in another
    way, or not at all.
    """
    torch = series(facts.torch.version) if facts.torch else None
    triton = series(facts.triton.version) if facts.triton and facts.triton.version else None
    found = {
        (of_torch, each)
        for of_torch, lacking in stopping.items()
        if torch in (None, of_torch)
        and not ((own := matrix.load().pair(of_torch)) and {own.triton, own.windows} & {*lacking})
        for each in lacking
        if triton in (None, each)
    }
    ours = {pair for pair in found if Version(pair[1]) >= _FIRST_FOR_WINDOWS}
    return frozenset(ours or found)


def _verdict(torch: str, triton: str) -> str:
    pair = matrix.load().pair(torch)
    if pair is None and Version(torch) < Version("2.4"):
        return "torch-too-old-for-triton"
    wanted = pair.triton if pair else matrix.load().newest_release().series
    too_old = Version(triton) < Version(wanted)
    return "triton-too-old" if too_old else "triton-too-new-for-torch"
