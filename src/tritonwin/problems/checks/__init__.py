"""All checks, in the order of the catalogue: what others rest on comes first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tritonwin.facts.records import Distribution, Facts
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import ABSENT, CheckTerms, When
from tritonwin.problems.check import Check, NotApplicable, Seen, seen
from tritonwin.problems.checks import (
    caches,
    compiler,
    cuda,
    gpu,
    machine,
    packages,
    pairs,
    python_files,
    triton,
)
from tritonwin.problems.conditions import allows, package, value_of


def _compare(terms: CheckTerms, when: When, facts: Facts) -> Iterator[Seen]:
    """The check that the catalogue states as ranges of facts."""
    values: dict[str, str] = {}
    fitting = True
    for fact, allowed in when.conditions():
        value = value_of(fact, facts)
        if value is None:
            raise NotApplicable(f"the version of {fact} is not known")
        if value == ABSENT and ABSENT not in allowed:
            raise NotApplicable(f"{fact} is not installed")
        fitting = fitting and bool(allows(fact, allowed, value))
        values[fact] = value
    if fitting:
        place = package(terms.place, facts)
        where = place.location if isinstance(place, Distribution) else place.source if place else ""
        yield seen(terms.seen.format_map(values), where)


_MODULES = (machine, gpu, triton, pairs, python_files, packages, compiler, cuda, caches)
_FUNCTIONS = {
    found.id: found
    for module in _MODULES
    for found in vars(module).values()
    if isinstance(found, Check)
}
CHECKS: tuple[Check, ...] = tuple(
    Check(name, partial(_compare, entry.check, entry.check.when))
    if entry.check and entry.check.when
    else _FUNCTIONS[name]
    for name, entry in catalogue.load().entries.items()
    if entry.check
)
