"""All checks, in the order of the catalogue: what others rest on comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module

from tritonwin.facts.records import Distribution, Facts
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import ABSENT, CheckTerms, When
from tritonwin.problems.check import Check, Seen, need, seen
from tritonwin.problems.conditions import allows, package, value_of


def _compare(terms: CheckTerms, when: When, facts: Facts) -> Iterator[Seen]:
    """The check that the catalogue states as ranges of facts."""
    values: dict[str, str] = {}
    fitting = True
    for fact, allowed in when.conditions():
        value = need(value_of(fact, facts), f"not known: {fact.replace('_', ' ')}")
        need(value != ABSENT or ABSENT in allowed, f"{fact} is not installed")
        fitting = fitting and bool(allows(fact, allowed, value))
        values[fact] = value
    if fitting:
        place = package(terms.place, facts)
        where = place.location if isinstance(place, Distribution) else place.source if place else ""
        where = where or facts.system.sources.get(terms.place, "")
        yield seen(terms.seen.format_map(values), where)


_FOR_VERSIONS = ("gpu", "pairs", "amd")
_OTHERS = ("machine", "triton", "python_files", "packages", "compiler", "cuda", "caches")


def _written_in(modules: Iterable[str]) -> dict[str, Check]:
    found = (vars(import_module(f"{__name__}.{module}")).values() for module in modules)
    return {each.id: each for values in found for each in values if isinstance(each, Check)}


def _checks(written: dict[str, Check], terms: Mapping[str, CheckTerms]) -> Iterator[Check]:
    for name, each in terms.items():
        yield Check(name, partial(_compare, each, each.when)) if each.when else written[name]


@cache
def of_versions() -> tuple[Check, ...]:
    """The checks that need no more than versions; no other is imported, which takes longer."""
    terms = {name: each for name, each in catalogue.load().checks.items() if each.of_versions}
    return tuple(_checks(_written_in(_FOR_VERSIONS), terms))


CHECKS: tuple[Check, ...]


def __getattr__(name: str) -> tuple[Check, ...]:
    if name != "CHECKS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found = tuple(
        _checks(_written_in((*_FOR_VERSIONS, *_OTHERS)), catalogue.load().checks)
    )
    return found
