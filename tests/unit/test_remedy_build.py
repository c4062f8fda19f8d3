"""A wheel that is built where none fits, installed through the journal, and undone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import machines
import pytest
from hosts import no_pip
from trees import tree_hash
from wheel_files import make_wheel

from tritonwin.build import recipe, runner
from tritonwin.build.outcome import BuildOutcome, Progress, WheelProof
from tritonwin.facts.records import Interpreter
from tritonwin.journal import Journal, Store, undo
from tritonwin.problems.records import Action
from tritonwin.remedies import build_wheel, distributions, planner
from tritonwin.remedies.context import ApplyContext, PlanContext
from tritonwin.remedies.distributions import NothingFitsError
from tritonwin.remedies.plan import BuildWheel, CannotRemedyError, Change
from tritonwin.remedies.records import Event, ProgressEvent, StepEvent
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources

WHEEL = "flash_attn-2.8.3.post2+cu128torch2.9-cp312-cp312-linux_x86_64.whl"


@pytest.fixture
def means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlanContext:
    """A Linux with all that a build needs; sources name no wheel."""
    machine = machines.linux(tmp_path)
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: machine)
    return PlanContext(facts=machine.facts, host=machine.host, pip=no_pip, sources=Sources)


def asked(name: str) -> list[Action]:
    return [Action(name="install-distribution", arguments={"requirement": name})]


def nothing_fits(*missing: str) -> Any:
    def plan_install(*_: object) -> Change:
        raise NothingFitsError("no wheel fits: x", "See: tritonwin install", missing)

    return plan_install


def test_a_build_is_planned_where_no_wheel_fits(
    means: PlanContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "plan_install", nothing_fits("flash-attn"))
    change = planner._install_or_build(asked("flash-attn>=2"), means)
    assert isinstance(change, BuildWheel)
    assert list(means.builds) == [change.plan]
    assert change.what == "build flash-attn 2.8.3.post2 from source and install it"
    assert "8 jobs" in (change.note or "")


@pytest.mark.parametrize(
    ("requests", "missing"),
    [
        (("triton-windows",), ("triton-windows",)),
        (("flash-attn", "xformers"), ("flash-attn",)),
        (("xformers",), ("xformers",)),
    ],
)
def test_what_is_not_built_in_passing(
    means: PlanContext,
    monkeypatch: pytest.MonkeyPatch,
    requests: tuple[str, ...],
    missing: tuple[str, ...],
) -> None:
    monkeypatch.setattr(distributions, "plan_install", nothing_fits(*missing))
    actions = [action for name in requests for action in asked(name)]
    with pytest.raises(NothingFitsError):
        planner._install_or_build(actions, means)


def test_a_recipe_for_a_torch_is_found_by_its_distribution() -> None:
    made = [r for r in map(recipe.load, recipe.names()) if r.needs_torch and r.distribution]
    assert made
    assert [build_wheel.recipe_for(r.distribution) for r in made] == [r.name for r in made]


def test_a_refused_build_says_both_reasons(
    tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "plan_install", nothing_fits("flash-attn"))
    lacking = machines.linux(tmp_path, cuda_toolkits=())
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: lacking)
    with pytest.raises(CannotRemedyError, match=r"no wheel fits: x; a build is refused: .*CUDA 12"):
        planner._install_or_build(asked("flash-attn"), means)
    with pytest.raises(CannotRemedyError, match="may not be fetched"):
        planner._install_or_build(asked("flash-attn"), replace(means, offline=True))


@dataclass(frozen=True)
class Scene:
    """A target with an older flash-attn, and a build that ends with this wheel or none."""

    prefix: Path
    store: Store
    old: Path
    change: BuildWheel
    context: PlanContext

    def apply(self, target: Interpreter, scratch: Path, heard: list[Event] | None = None) -> str:
        scratch.mkdir()
        with Journal.begin(self.store, target=target.executable, title="t", plan={}) as journal:
            context = ApplyContext(
                journal=journal,
                target=target,
                scratch=scratch,
                pip=lambda: Pip(("pip",)),
                builds=self.context.builds,
                on_event=(heard if heard is not None else []).append,
            )
            build_wheel.apply_build(self.change, context)
        return journal.header.id


def scene(
    tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch, wheel: Path | None
) -> tuple[Scene, Interpreter]:
    """The build itself, and pip's laying out, are stand-ins; the journal is real."""
    prefix = tmp_path / "target"
    old = prefix / "lib" / "site-packages" / "flash_attn-1.0.dist-info"
    old.mkdir(parents=True)
    (old / "RECORD").write_text("flash_attn-1.0.dist-info/RECORD,,\n")
    assert means.facts.target is not None
    target = replace(
        means.facts.target, executable=str(prefix / "bin" / "python"), prefix=str(prefix)
    )
    proof = WheelProof(steps=()) if wheel else None
    ended = BuildOutcome(log="build-1.log", wheel=str(wheel) if wheel else None, proof=proof)

    def stage(_: object, wheels: list[Any], root: Path, progress: object) -> None:
        assert [w.location for w in wheels] == [str(wheel)]
        made = root / "lib" / "site-packages" / "flash_attn-2.8.3.dist-info"
        made.mkdir(parents=True)
        (made / "METADATA").write_text("new")

    monkeypatch.setattr("tritonwin.build.runner.make", lambda *_, **__: ended)
    monkeypatch.setattr(build_wheel, "find_pip", lambda *_: Pip(("pip",)))
    monkeypatch.setattr(build_wheel.target_pip, "stage", stage)
    change = build_wheel.plan_build(means, distribution="flash-attn")
    change = replace(change, removes=(str(old),))
    return Scene(prefix, Store(tmp_path / "journals"), old, change, means), target


def test_what_was_built_is_installed_and_given_back(
    tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "dist", WHEEL)
    made, target = scene(tmp_path, means, monkeypatch, wheel)
    before = tree_hash(made.prefix)
    journal = made.apply(target, tmp_path / "scratch")
    assert not made.old.exists()
    new = made.old.parent / "flash_attn-2.8.3.dist-info" / "METADATA"
    assert new.read_text() == "new"
    undo(made.store, journal)
    assert tree_hash(made.prefix) == before


def test_a_build_that_fails_changes_nothing(
    tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, target = scene(tmp_path, means, monkeypatch, None)
    before = tree_hash(made.prefix)
    with pytest.raises(CannotRemedyError) as caught:
        made.apply(target, tmp_path / "scratch")
    assert "tritonwin explain" in caught.value.help
    assert tree_hash(made.prefix) == before


def test_the_build_that_was_shown_is_made_and_tells_how_far_it_is(
    tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is surveyed or planned a second time: the machine may be another by then."""
    made, target = scene(tmp_path, means, monkeypatch, make_wheel(tmp_path / "dist", WHEEL))
    shown = means.builds[made.change.plan][0]
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: pytest.fail("again"))
    ended, carried_out = runner.make, []

    def make(plan: Any, context: Any) -> Any:
        carried_out.append(plan)
        context.on_event("compiling")
        context.on_event(Progress(done=3, total=73))
        return ended(plan, context)

    monkeypatch.setattr(runner, "make", make)
    heard: list[Event] = []
    made.apply(target, tmp_path / "scratch", heard)
    assert carried_out == [shown]
    assert heard == [StepEvent(text="compiling"), ProgressEvent(done=3, total=73)]
