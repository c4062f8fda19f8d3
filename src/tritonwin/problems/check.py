"""The form of a check: a pure function from facts to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from tritonwin.facts.records import Distribution, Facts, Interpreter, Torch, Triton, Variable
from tritonwin.problems import catalogue
from tritonwin.problems.catalogue import CheckTerms
from tritonwin.problems.records import Certainty, Evidence, Finding, Severity
from tritonwin.support import versions

T = TypeVar("T")
# A finding that lacks its id: the check adds its own.
Seen: TypeAlias = "partial[Finding]"


NOT_NEEDED = "not needed: Triton's driver without a compiler is on"


class NotApplicable(Exception):  # noqa: N818 - an outcome, not an error
    """Raised by a check that has nothing to look at; the text says why."""


@dataclass(frozen=True)
class Check:
    """A check bears the id of the problem that it looks for; the catalogue holds its terms."""

    id: str
    run: Callable[[Facts], Iterable[Seen]]

    @property
    def terms(self) -> CheckTerms:
        return catalogue.load().checks[self.id]

    def findings(self, facts: Facts) -> tuple[Finding, ...]:
        """Raises NotApplicable."""
        terms = self.terms
        need(facts.windows or not terms.windows_only, "a matter of Windows")
        if terms.compiling and facts.triton and facts.triton.python_driver:
            raise NotApplicable(NOT_NEEDED)
        usual = {"severity": terms.severity, "certainty": terms.certainty}
        return tuple(each(**{"id": self.id, **usual, **each.keywords}) for each in self.run(facts))


def check(problem: str) -> Callable[[Callable[[Facts], Iterable[Seen]]], Check]:
    """Make a check of a function. All checks of the modules of this package are run."""
    return partial(Check, problem)


def seen(
    text: str,
    where: str | Variable | Distribution,
    *,
    certainty: Certainty | None = None,
    severity: Severity | None = None,
    also: Iterable[Evidence] = (),
    **values: str | None,
) -> Seen:
    """One decisive piece of evidence, and perhaps more; `values` fill the catalogue's words.

    A variable or a distribution in the place of `where` gives its place and its own values.
    Severity and certainty are given where they are not those of the check's terms.
    """
    if isinstance(where, Variable):
        values = {"variable": where.name, "value": where.value, **values}
        where = f"variable {where.name} ({where.scope})"
    elif isinstance(where, Distribution):
        values = {"package": where.name, "package_version": where.version, **values}
        where = where.location
    unusual = {"certainty": certainty, "severity": severity}
    return partial(
        Finding,
        evidence=(Evidence(text=text, where=where), *also),
        values={name: value for name, value in values.items() if value is not None},
        **{name: value for name, value in unusual.items() if value is not None},  # type: ignore[arg-type]
    )


def need(value: T | None, why: str) -> T:
    """Return `value`; raise NotApplicable with `why` where it is None or empty."""
    if not value:
        raise NotApplicable(why)
    return value


def need_target(facts: Facts) -> Interpreter:
    return need(facts.target, "no target interpreter")


def need_torch(facts: Facts) -> Torch:
    return need(facts.torch, "torch is not installed")


def need_triton(facts: Facts) -> Triton:
    need(not (facts.triton and facts.triton.namespace), "no Triton is installed")
    return need(facts.triton, "no Triton is installed")


def need_distribution(facts: Facts, name: str) -> Distribution:
    return need(facts.distribution(name), f"{name} is not installed")


def nvidia_capability(facts: Facts) -> str:
    """Compute capability of the first NVIDIA GPU, which torch and Triton use by default."""
    known = (gpu.compute_capability for gpu in facts.nvidia_gpus if gpu.compute_capability)
    return need(next(known, None), "no NVIDIA GPU of known compute capability")


def python_series(interpreter: Interpreter) -> str:
    """Version "3.12" of an interpreter of 3.12.9."""
    known = versions.series(interpreter.version or "")
    return need(known, "the interpreter's version is not known")
