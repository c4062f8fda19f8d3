"""Patch the target's Triton on disk, as `tritonwin patch apply` does."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tritonwin.facts.patch_record import compare, read_manifest
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Remedy, Work
from tritonwin.system.data_folder import data_folder

if TYPE_CHECKING:
    from tritonwin.patch.disk import PatchPlan
    from tritonwin.patch.sources import Tree


def _plan(arguments: Mapping[str, str], means: Means) -> Change:
    del arguments
    triton = means.facts.triton
    if triton is None or triton.namespace:
        raise CannotRemedyError("there is no Triton to patch")
    if triton.import_hook is not None:
        raise CannotRemedyError(
            f"the import hook {triton.import_hook} patches this Triton already",
            "See what it does: tritonwin patch status",
        )
    package = Path(triton.location)
    plan = _patch_plan(package, data_folder(means.host.env))
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
    rules = [rule for edit in plan.edits for rule in edit.rules]
    return Change(
        action="patch",
        arguments={"package": str(package), "sources": _digest(plan.tree)},
        what=f"patch {len(plan.edits)} files of Triton in {package} ({', '.join(rules)})",
        why="",
        note="Installing Triton again takes the patch out; apply it again then.",
    )


def _patch_plan(package: Path, data: Path) -> PatchPlan:
    # the rules take a while to import, and few plans need them
    from tritonwin.patch.disk import make_plan
    from tritonwin.patch.sources import read_tree

    return make_plan(read_tree(package), manifest=read_manifest(data, package))


def _digest(tree: Tree) -> str:
    contents = "".join(f"{name} {file.sha256}\n" for name, file in sorted(tree.files.items()))
    return hashlib.sha256(contents.encode()).hexdigest()


def _apply(change: Change, work: Work) -> None:
    from tritonwin.patch.disk import drop_bytecode, write_edits

    package = Path(change.arguments["package"])
    data = work.journal.store.root.parent
    plan = _patch_plan(package, data)
    if _digest(plan.tree) != change.arguments["sources"]:
        return  # another remedy of the same plan has put another Triton there
    manifest = read_manifest(data, package)
    in_force = manifest if manifest and compare(manifest, package).ours else None
    write_edits(work.journal, plan, data, in_force)
    drop_bytecode(package, [edit.source.file for edit in plan.edits])


REMEDY = Remedy(plan=_plan, apply=_apply, rank=65)
