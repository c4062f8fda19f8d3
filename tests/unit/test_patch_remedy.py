"""Patch as a remedy of `fix`, and as a fact of doctor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from hosts import fake_host, no_pip
from installed import target
from trees import describe_tree
from triton_trees import make_tree

from tritonwin.facts import torch_triton
from tritonwin.facts.history import read_patch_record
from tritonwin.facts.records import Facts
from tritonwin.journal import Journal, Store, undo
from tritonwin.patch.plan import examine, read_triton
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import ApplyPatch, CannotRemedyError, ChangedSincePlanError
from tritonwin.remedies.triton_files import apply_patch, plan_patch
from tritonwin.support.sources import Sources
from tritonwin.system.host import DATA_VARIABLE


def facts_of(package: Path, data: Path) -> Facts:
    """A Windows machine whose Triton is that of the folder."""
    there = torch_triton.read_triton(target(package.parent), ())
    assert healthy.HEALTHY.triton
    assert there
    found = replace(
        healthy.HEALTHY.triton,
        location=str(package),
        defects=there.defects,
        patched=there.patched,
        for_windows=there.for_windows,
    )
    return healthy.changed(triton=found, patch=read_patch_record(data, found))


def plan(package: Path, data: Path) -> ApplyPatch:
    host = fake_host(data.parent, {DATA_VARIABLE: str(data)})
    context = PlanContext(
        facts=facts_of(package, data), host=host, pip=no_pip, sources=lambda: Sources(offline=True)
    )
    return plan_patch(context)


def apply(change: ApplyPatch, data: Path) -> str:
    store = Store(data / "journal")
    with Journal.begin(store, target=str(data / "python.exe"), title="fix") as journal:
        scratch = journal.scratch(data)
        context = ApplyContext(journal=journal, target=healthy.TARGET, scratch=scratch, pip=no_pip)
        apply_patch(change, context)
    return journal.header.id


def problems(package: Path, data: Path) -> list[str]:
    checks = [c for c in CHECKS if c.id.startswith("triton-") and "patch" in c.id]
    checks += [c for c in CHECKS if c.id == "triton-sources-not-for-windows"]
    return [problem.id for problem in diagnose(facts_of(package, data), checks).problems]


def test_from_unpatched_over_overwritten_to_given_back(tmp_path: Path) -> None:
    data, package = tmp_path / "data", make_tree("3.6.0", tmp_path / "site")
    before = describe_tree(package)
    assert problems(package, data) == ["triton-sources-not-for-windows"]

    change = plan(package, data)
    assert change.action == "patch"
    assert "temp-files" in change.what
    journal = apply(change, data)
    assert examine(read_triton(package)).of("needed", "unknown") == ()
    assert problems(package, data) == []

    driver = package / "backends/nvidia/driver.py"
    ours = driver.read_bytes()
    driver.write_bytes(
        (make_tree("3.6.0", tmp_path / "wheel") / driver.relative_to(package)).read_bytes()
    )
    assert problems(package, data)[0] == "triton-patch-overwritten"
    driver.write_bytes(ours)

    assert undo(Store(data / "journal"), journal).state == "undone"
    assert describe_tree(package) == before
    assert problems(package, data) == ["triton-sources-not-for-windows"]


def test_another_triton_than_the_plan_was_made_for_is_refused_by_name(tmp_path: Path) -> None:
    data, package = tmp_path / "data", make_tree("3.6.0", tmp_path / "site")
    change = plan(package, data)
    make_tree("windows:3.6.0.post26", tmp_path / "site")
    before = describe_tree(package)
    with pytest.raises(ChangedSincePlanError, match=r"changed: .*driver\.py") as refused:
        apply(change, data)
    assert "again" in refused.value.help
    assert describe_tree(package) == before


def test_what_is_not_known_is_not_fixed_unasked(tmp_path: Path) -> None:
    package = make_tree("3.6.0", tmp_path / "site")
    knobs = package / "knobs.py"
    knobs.write_text(knobs.read_text() + "# mine\n")
    with pytest.raises(CannotRemedyError, match=r"no known release: knobs\.py"):
        plan(package, tmp_path / "data")


def test_what_needs_nothing_is_not_changed(tmp_path: Path) -> None:
    data, package = tmp_path / "data", make_tree("3.6.0", tmp_path / "site")
    apply(plan(package, data), data)
    with pytest.raises(CannotRemedyError, match="no rule of tritonwin patch applies"):
        plan(package, data)
