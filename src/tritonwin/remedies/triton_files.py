"""Triton's own files: the patch, as `tritonwin patch apply` makes it, and the driver in Python.

Rules, driver and hook take a while to import, and few plans need them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.errors import UserError
from tritonwin.facts.history import read_manifest
from tritonwin.facts.records import Interpreter
from tritonwin.problems import checks
from tritonwin.problems.records import Problem
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import (
    ApplyPatch,
    CannotRemedyError,
    Change,
    ChangedSincePlanError,
    SwitchDriver,
)
from tritonwin.system.host import data_folder

if TYPE_CHECKING:
    from tritonwin.patch.records import PatchPlan


def plan_patch(context: PlanContext) -> ApplyPatch:
    triton = context.facts.triton
    if triton is None or triton.namespace:
        raise CannotRemedyError("there is no Triton to patch")
    if triton.import_hook is not None:
        raise CannotRemedyError(
            f"the import hook {triton.import_hook} patches this Triton already",
            "See what it does: tritonwin patch status",
        )
    package = Path(triton.location)
    plan = _patch_plan(package, data_folder(context.host.env))
    if plan.refused:
        files = ", ".join(refusal.file for refusal in plan.refused)
        raise CannotRemedyError(
            f"these files of Triton are of no known release: {files}",
            "See what could be done: tritonwin patch diff --allow-unknown",
        )
    if not plan.edits:
        raise CannotRemedyError(
            "no rule of tritonwin patch applies to this Triton", "See why: tritonwin patch status"
        )
    return ApplyPatch(
        package=str(package),
        files=tuple(edit.hashes for edit in plan.edits),
        what=f"patch {len(plan.edits)} files of Triton in {package} ({', '.join(plan.rules)})",
        note="Installing Triton again takes the patch out; apply it again then.",
    )


def apply_patch(change: ApplyPatch, context: ApplyContext) -> None:
    """Write exactly the edits that were shown.

    Raises:
        ChangedSincePlanError: a file has another content now, or would be edited in another way.
    """
    from tritonwin.patch.session import write_edits

    package = Path(change.package)
    plan = _patch_plan(package, context.journal.store.root.parent)
    found = tuple(edit.hashes for edit in plan.edits)
    if found != change.files:
        names = sorted({file.file for file in set(found) ^ set(change.files)})
        raise ChangedSincePlanError(f"Triton in {package} changed: {', '.join(names)}")
    write_edits(context.journal, plan)


def _patch_plan(package: Path, data: Path) -> PatchPlan:
    from tritonwin.patch.plan import make_plan, read_triton

    return make_plan(read_triton(package), manifest=read_manifest(data, package))


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
