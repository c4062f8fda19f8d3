"""A wheel that is built where none fits, installed through the journal, and undone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import machines
import pytest
from hosts import no_pip
from trees import tree_hash, write
from wheel_files import make_wheel

from tritonwin.build import recipe
from tritonwin.build.records import BuildOutcome, Progress, WheelProof
from tritonwin.build.source import BuildContext
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


class Scene:
    """A target with an older flash-attn. The build itself, and pip's laying out, are stand-ins.

    Attributes:
        wheel: what the build ends with; None: it fails.
        carried_out: the plans of the builds.
        heard: what was told meanwhile.
    """

    def __init__(self, folder: Path, means: PlanContext) -> None:
        self.wheel: Path | None = make_wheel(folder / "dist", WHEEL)
        self.prefix = folder / "target"
        self.store, self.means, self.scratch = Store(folder / "journals"), means, folder / "scratch"
        self.site = self.prefix / "lib" / "site-packages"
        self.old = self.site / "flash_attn-1.0.dist-info"
        write(self.old, {"RECORD": "flash_attn-1.0.dist-info/RECORD,,\n"})
        self.scratch.mkdir()
        change = build_wheel.plan_build(means, distribution="flash-attn")
        self.change = replace(change, removes=(str(self.old),))
        self.carried_out: list[object] = []
        self.heard: list[Event] = []

    def make(self, plan: object, context: BuildContext) -> BuildOutcome:
        self.carried_out.append(plan)
        context.on_event("compiling")
        context.on_event(Progress(done=3, total=73))
        if self.wheel is None:
            return BuildOutcome(log="build-1.log")
        proof = WheelProof(steps=())
        return BuildOutcome(log="build-1.log", wheel=str(self.wheel), proof=proof)

    def stage(self, _: object, wheels: list[Any], root: Path, progress: object) -> None:
        assert [w.location for w in wheels] == [str(self.wheel)]
        write(root, {"lib/site-packages/flash_attn-2.8.3.dist-info/METADATA": "new"})

    def apply(self) -> str:
        assert self.means.facts.target is not None
        python = str(self.prefix / "bin" / "python")
        target = replace(self.means.facts.target, executable=python, prefix=str(self.prefix))
        with Journal.begin(self.store, target=python, title="t", plan={}) as journal:
            context = ApplyContext(
                journal=journal,
                target=target,
                scratch=self.scratch,
                pip=lambda: Pip(("pip",)),
                builds=self.means.builds,
                on_event=self.heard.append,
            )
            build_wheel.apply_build(self.change, context)
        return journal.header.id


@pytest.fixture
def scene(tmp_path: Path, means: PlanContext, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path, means)
    monkeypatch.setattr("tritonwin.build.runner.make", made.make)
    monkeypatch.setattr(build_wheel, "find_pip", lambda *_: Pip(("pip",)))
    monkeypatch.setattr(build_wheel.target_pip, "stage", made.stage)
    # nothing is surveyed or planned a second time: the machine may be another by then
    monkeypatch.setattr("tritonwin.build.order.survey", lambda *_, **__: pytest.fail("again"))
    return made


def test_what_a_build_replaces_is_in_the_plan(tmp_path: Path, means: PlanContext) -> None:
    scene = Scene(tmp_path, means)
    facts, older = scene.means.facts, healthy.dist("flash-attn", "1.0")
    older = replace(older, location=str(scene.old))
    target = replace(scene.means.target, prefix=str(scene.prefix))
    facts = replace(facts, target=target, distributions=(*facts.distributions, older))
    change = build_wheel.plan_build(replace(scene.means, facts=facts), distribution="flash-attn")
    assert change.removes == (str(scene.old),)


def test_what_was_shown_is_built_installed_and_undone(scene: Scene) -> None:
    before = tree_hash(scene.prefix)
    journal = scene.apply()
    assert not scene.old.exists()
    assert (scene.site / "flash_attn-2.8.3.dist-info" / "METADATA").read_text() == "new"
    assert scene.carried_out == [scene.means.builds[scene.change.plan][0]]
    assert scene.heard == [StepEvent(text="compiling"), ProgressEvent(done=3, total=73)]
    undo(scene.store, journal)
    assert tree_hash(scene.prefix) == before


def test_a_build_that_fails_changes_nothing(scene: Scene) -> None:
    before = tree_hash(scene.prefix)
    scene.wheel = None
    with pytest.raises(CannotRemedyError) as caught:
        scene.apply()
    assert "tritonwin explain" in caught.value.help
    assert tree_hash(scene.prefix) == before
