"""Let Triton's driver run in Python: for problems whose usual repair needs more than is here.

The driver and its hook take a while to import, and few plans need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.records import Interpreter
from tritonwin.problems import checks
from tritonwin.problems.records import Problem
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, Change, SwitchDriver


@cache
def family() -> frozenset[str]:
    """The problems that end where Triton compiles nothing."""
    return frozenset(check.id for check in checks.CHECKS if check.terms.compiling)


def plan_driver(context: PlanContext) -> SwitchDriver:
    from tritonwin.driver.carry import read_backends
    from tritonwin.patch.hook import install

    triton = context.facts.triton
    if triton is None or triton.namespace:
        raise CannotRemedyError("there is no Triton whose driver could run in Python")
    if triton.python_driver is not None:
        raise CannotRemedyError("Triton's driver runs in Python already")
    backends = read_backends(Path(triton.location))
    if not any(each.known for each in backends):
        reasons = "; ".join(each.reason for each in backends) or "it has none"
        raise CannotRemedyError(f"the driver of this Triton is not known: {reasons}")
    folder = install.place(_with_site(context.target))
    return SwitchDriver(
        folder=str(folder),
        what="run Triton's driver in Python, so that no C compiler is needed (tritonwin driver)",
        note="Nothing is fetched or compiled. torch.compile for the CPU, and building wheels, need "
        "a compiler and headers all the same.",
    )


def instead_of(
    problem: Problem, usual: Sequence[Change], context: PlanContext
) -> tuple[SwitchDriver, ...]:
    """The driver in Python, where the usual changes need a download or rights, or there are none.

    Empty where the usual ones will do, or the driver cannot run in Python here.
    """
    if problem.id not in family():
        return ()
    if usual and not any(change.network or change.admin for change in usual):
        return ()
    try:
        return (plan_driver(context),)
    except UserError:
        return ()


def apply_driver(change: SwitchDriver, context: ApplyContext) -> None:
    """Write the hook, or into the hook that is there."""
    from tritonwin.patch.hook import install

    del change
    target = _with_site(context.target)
    there = install.find(target)
    choice = there.choice if there else None
    install.write(context.journal, target, choice, driver=True)


def _with_site(target: Interpreter) -> Interpreter:
    """The target as it is once the plan lets it load `site`."""
    if target.pth is None or target.pth.import_site:
        return target
    return replace(target, pth=replace(target.pth, import_site=True), site_loaded=True)
