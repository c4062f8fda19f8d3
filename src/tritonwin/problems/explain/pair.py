"""torch and Triton as far as a log tells their versions: the checks of the pair, and its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from packaging.version import Version

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.advice import pairs
from tritonwin.problems.doctor import findings_of
from tritonwin.problems.explain.log_facts import SOURCE, LogFacts, Match
from tritonwin.problems.records import CERTAINTIES, Evidence, Finding
from tritonwin.support import matrix
from tritonwin.support.triton_names import Missing, missing_name
from tritonwin.support.versions import series

_VERSIONS = ("torch", "triton", "setuptools")
_FIRST_FOR_WINDOWS = Version("3.0")  # older ones are builds of single people


def of_versions(log: LogFacts, facts: Facts) -> Iterator[Finding]:
    """The findings of the checks that need no more than versions, where the log tells any.

    A log may name the versions of another environment, so none is certain. What a snapshot alone
    shows is no finding of the log.
    """
    from tritonwin.problems.checks import CHECKS

    told = {name: match for name, match in log.last() if name in _VERSIONS}
    if not told:
        return
    checks = {check.id: check for check in CHECKS if check.id in catalogue.load().entries}
    for found in findings_of(facts, [c for c in checks.values() if c.terms.of_versions]):
        certainty = max(
            found.certainty, checks[found.id].terms.of_versions or "possible", key=CERTAINTIES.index
        )
        yield replace(found, certainty=certainty, evidence=tuple(_quoted(found.evidence, told)))


def _quoted(evidence: tuple[Evidence, ...], told: Mapping[str, Match]) -> Iterator[Evidence]:
    for each in evidence:
        said = [m.line for name, m in told.items() if m.groups[name] in each.text]
        where = " and ".join(f"line {line}" for line in sorted(said))
        yield replace(each, where=where) if each.where == SOURCE and where else each


def of_names(log: LogFacts, facts: Facts) -> Iterator[tuple[Finding, Match]]:
    """Findings about the pair from parts of Triton that an error misses, with the error's line."""
    for match in log.all("missing"):
        missing = missing_name(match.groups["missing"])
        if missing is None:
            continue
        possible = _possible(missing, facts)
        verdicts = {_verdict(torch, triton) for torch, triton in possible}
        torches = {torch for torch, _ in possible}
        values = {} if facts.torch else {"torch_pairs": pairs(facts.windows, torches)}
        for problem in sorted(verdicts):
            yield (
                Finding(
                    id=problem,
                    evidence=(),
                    certainty="likely" if len(verdicts) == 1 else "possible",
                    values={name: value for name, value in values.items() if value},
                ),
                match,
            )


def _possible(missing: Missing, facts: Facts) -> frozenset[tuple[str, str]]:
    """The pairs that stop at the name and do not contradict the facts.

    A torch that would stop with its own Triton does not stop at the name: it asks for it in another
    way, or not at all.
    """
    torch = series(facts.torch.version) if facts.torch else None
    triton = series(facts.triton.version) if facts.triton and facts.triton.version else None
    found = {
        (of_torch, each)
        for of_torch, lacking in missing.pairs.items()
        if torch in (None, of_torch) and not _lacks_its_own(of_torch, lacking)
        for each in lacking
        if triton in (None, each)
    }
    ours = {pair for pair in found if Version(pair[1]) >= _FIRST_FOR_WINDOWS}
    return frozenset(ours or found)


def _lacks_its_own(torch: str, lacking: tuple[str, ...]) -> bool:
    """True where the Triton that belongs to the torch is among those that lack a name."""
    pair = matrix.load().pair(torch)
    return pair is not None and (pair.triton in lacking or pair.windows in lacking)


def _verdict(torch: str, triton: str) -> str:
    pair = matrix.load().pair(torch)
    if pair is None and Version(torch) < Version("2.4"):
        return "torch-too-old-for-triton"
    wanted = pair.triton if pair else matrix.load().newest_release().series
    too_old = Version(triton) < Version(wanted)
    return "triton-too-old" if too_old else "triton-too-new-for-torch"
