"""With Triton's driver in Python nothing asks for a compiler: doctor, the proof, and fix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import healthy
import pytest
from hosts import fake_host
from trees import write
from triton_trees import sources

from tritonwin.facts.torch_triton import HOOK, HOOK_START
from tritonwin.journal import Journal, Store, undo
from tritonwin.problems.check import NOT_NEEDED
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Problem
from tritonwin.remedies.apply import KINDS
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.plan import CannotRemedyError, SwitchDriver
from tritonwin.remedies.planner import make_plan
from tritonwin.remedies.triton_files import plan_driver
from tritonwin.support.sources import Sources
from tritonwin.verify import records
from tritonwin.verify.setting import obstacle, setting_for

HEADERS = "embedded-python-no-headers"


def test_checks_of_compilers_are_not_needed() -> None:
    facts = healthy.part("triton", python_driver="_tritonwin_hook.py")
    results = {each.id: each for each in diagnose(facts, CHECKS).checks}
    compiling = [check.id for check in CHECKS if check.terms.compiling]
    assert len(compiling) >= 8
    for name in compiling:
        assert (results[name].state, results[name].detail) == ("not-applicable", NOT_NEEDED)


def test_the_proof_does_not_ask_for_a_compiler() -> None:
    """The rung of headers is not needed; the others are tried as ever."""
    facts = healthy.part("triton", python_driver="_tritonwin_hook.py")
    found = setting_for(facts, {})
    headers, helper = records.select(only=("headers-and-library", "helper-module"))
    state, reason = obstacle(headers, found) or ("", "")
    assert (state, "not needed" in reason) == ("not-applicable", True)
    assert obstacle(helper, found) is None


@pytest.fixture
def context(tmp_path: Path) -> PlanContext:
    """A Python without headers whose Triton is 3.6.0's, on a machine that may fetch nothing."""
    site = tmp_path / "env" / "site-packages"
    site.mkdir(parents=True)
    facts = healthy.part("triton", location=str(sources("3.6.0")))
    target = replace(
        facts.target,
        site_packages=(str(site),),
        user_site=None,
        executable=str(site.parent / "python"),
    )
    facts = replace(facts, target=target)
    return PlanContext(
        facts=facts,
        host=fake_host(tmp_path),
        pip=pytest.fail,
        sources=lambda: Sources(lists=(), offline=True),
        offline=True,
    )


def broken() -> tuple[Problem, ...]:
    found = [check for check in CHECKS if check.id == HEADERS]
    return diagnose(healthy.part("python_dev", headers=None), found).problems


@pytest.mark.parametrize(
    ("drivers", "says"),
    [({}, "it has none"), ({"nvidia": "int x;\n"}, r"is not known: (?!it has none)\w")],
)
def test_a_driver_that_is_not_known_is_not_switched(
    context: PlanContext, tmp_path: Path, drivers: dict[str, str], says: str
) -> None:
    write(tmp_path / "t", {f"backends/{name}/driver.c": text for name, text in drivers.items()})
    facts = healthy.part("triton", location=str(tmp_path / "t"))
    with pytest.raises(CannotRemedyError, match=says):
        plan_driver(replace(context, facts=facts))


def test_fix_offers_it_where_nothing_can_be_fetched(tmp_path: Path, context: PlanContext) -> None:
    plan = make_plan(broken(), context)
    (change,) = plan.changes
    assert isinstance(change, SwitchDriver)
    assert (change.problems, change.network, plan.unsolved) == ((HEADERS,), False, ())
    store = Store(tmp_path / "store")
    with Journal.begin(store, target=context.target.executable, title="test") as journal:
        KINDS[SwitchDriver].apply(
            change,
            ApplyContext(journal=journal, target=context.target, scratch=tmp_path, pip=context.pip),
        )
    site = Path(context.target.site_packages[0])
    assert sorted(p.name for p in site.iterdir()) == sorted([HOOK, HOOK_START])
    undo(store, journal.header.id)
    assert list(site.iterdir()) == []
