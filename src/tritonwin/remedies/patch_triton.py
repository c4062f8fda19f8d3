"""Patch the target's Triton on disk, as `tritonwin patch apply` does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.facts.history import read_manifest
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import ApplyPatch, CannotRemedyError, ChangedSincePlanError
from tritonwin.system.data_folder import data_folder

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
    # the rules take a while to import, and few plans need them
    from tritonwin.patch.plan import make_plan, read_triton

    return make_plan(read_triton(package), manifest=read_manifest(data, package))
