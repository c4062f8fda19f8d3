"""Patch as a remedy of `fix`, and as a fact of doctor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from hosts import fake_host
from triton_trees import make_tree

from tritonwin.facts.model import Facts
from tritonwin.facts.patch_record import read_patch_record
from tritonwin.facts.triton_sources import find_traits, read_sources
from tritonwin.journal import Journal, Store, undo
from tritonwin.journal.tree import describe_tree
from tritonwin.patch.sources import read_tree
from tritonwin.patch.status import examine
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.remedies.actions import REMEDIES
from tritonwin.remedies.plan import CannotRemedyError, Change
from tritonwin.remedies.remedy import Means, Work
from tritonwin.support.sources import Sources
from tritonwin.system.data_folder import VARIABLE

REMEDY = REMEDIES["patch"]


def facts_of(package: Path, data: Path) -> Facts:
    """A Windows machine whose Triton is that of the folder."""
    assert healthy.HEALTHY.triton is not None
    found = replace(
        healthy.HEALTHY.triton,
        location=str(package),
        traits=tuple(hit.id for hit in find_traits(read_sources(package))),
    )
    return healthy.changed(triton=found, patch=read_patch_record(data, package))


def plan(package: Path, data: Path) -> Change:
    host = fake_host(data.parent, {VARIABLE: str(data)})
    means = Means(
        facts=facts_of(package, data),
        host=host,
        pip=lambda: pytest.fail("no pip is needed"),
        sources=lambda: Sources(offline=True),
    )
    assert REMEDY.plan is not None
    return REMEDY.plan({}, means)


def apply(change: Change, data: Path) -> str:
    store = Store(data / "journal")
    with Journal.begin(store, target=str(data / "python.exe"), title="fix") as journal:
        work = Work(journal=journal, target=healthy.TARGET, scratch=journal.scratch(data))
        REMEDY.apply(change, work)
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
    assert examine(read_tree(package)).of("needed", "unknown") == ()
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


def test_a_triton_that_the_same_plan_replaced_is_left_alone(tmp_path: Path) -> None:
    data, package = tmp_path / "data", make_tree("3.6.0", tmp_path / "site")
    change = plan(package, data)
    make_tree("windows:3.6.0.post26", tmp_path / "site")
    before = describe_tree(package)
    apply(change, data)
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
