"""The loop of fix, with facts, plans and proofs of our own making."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from fix_world import World, proof
from trees import tree_hash

from tritonwin.facts import snapshot
from tritonwin.facts.history import read_proven, write_proven
from tritonwin.facts.records import Facts
from tritonwin.journal import Journal
from tritonwin.output.changes import of_fix
from tritonwin.output.terminal import Screen
from tritonwin.problems.check import Check
from tritonwin.remedies import fix as fixing
from tritonwin.remedies.plan import CannotRemedyError, Plan
from tritonwin.remedies.records import Event, FixResult, PlanEvent, ProofEvent, StepEvent
from tritonwin.support.pip import Pip
from tritonwin.support.sources import Sources
from tritonwin.verify.records import RungState


@dataclass
class Watcher:
    answers: dict[str, bool] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        match event:
            case StepEvent(text=text):
                self.said.append(text)
            case PlanEvent(plan=plan):
                self.plans.append(plan)
            case ProofEvent(rungs=rungs):
                self.said += [f"{r.id} {r.state}" for r in rungs]

    def agree(self, question: str) -> bool:
        return next((v for k, v in self.answers.items() if k in question), True)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path, iter(()))
    monkeypatch.setattr(fixing, "collect", made.collect)
    monkeypatch.setattr(fixing.ladder, "prove", made.prove)
    return made


def test_proven(world: World) -> None:
    world.proofs = iter([proof("failed"), proof("passed")])
    watcher = Watcher()
    before = tree_hash(world.root)
    outcome = world.fix(watcher)
    assert outcome.status == "proven"
    assert not outcome.problems
    assert not world.shadow.exists()
    assert [c.action for c in watcher.plans[0].changes] == ["rename-shadow"]
    assert "import-triton passed" in watcher.said
    assert len(outcome.journals) == 1
    fixing.undo(world.store, outcome.journals[0])
    assert tree_hash(world.root) == before


@pytest.mark.parametrize(("ahead", "known"), [("passed", ("passed",)), ("failed", ())])
def test_an_import_that_passed_meanwhile_is_part_of_the_proof(
    world: World, ahead: RungState, known: tuple[RungState, ...]
) -> None:
    """One that failed is tried again: what names its cause are the facts after the change."""
    world.ahead = ahead
    world.proofs = iter([proof("failed"), proof("passed")])
    assert world.fix(Watcher()).status == "proven"
    assert world.known == [(), known]


def test_a_second_fix_does_nothing(world: World) -> None:
    world.proofs = iter([proof("passed")] * 2)
    world.fix(Watcher())
    outcome = world.fix(Watcher())
    assert (outcome.status, outcome.journals) == ("healthy", ())


def test_a_dry_run_changes_nothing_and_shows_what_would_be_applied(
    world: World, tmp_path: Path
) -> None:
    before = tree_hash(tmp_path)
    dry = Watcher()
    outcome = world.fix(dry, dry_run=True)
    assert outcome.status == "planned"
    assert tree_hash(tmp_path) == before
    world.proofs = iter([proof("passed")] * 2)
    real = Watcher()
    world.fix(real)
    assert real.plans[0] == dry.plans[0] == outcome.plans[0]


def test_nothing_is_done_without_consent(world: World) -> None:
    world.proofs = iter([proof("passed")])
    outcome = world.fix(Watcher({"Make these": False}))
    assert (outcome.status, outcome.journals) == ("declined", ())
    assert world.shadow.exists()


def test_stuck_where_the_proof_fails(world: World) -> None:
    world.proofs = iter([proof("failed"), proof("failed")])
    outcome = world.fix(Watcher())
    assert outcome.status == "stuck"
    assert outcome.journals
    assert outcome.snapshot
    assert snapshot.read(Path(outcome.snapshot)).target


@pytest.mark.parametrize("dry_run", [True, False])
def test_nothing_is_planned_for_what_is_healthy(world: World, dry_run: bool) -> None:
    world.shadow.unlink()
    outcome = world.fix(Watcher(), dry_run=dry_run)
    assert (outcome.status, outcome.plans, outcome.snapshot) == ("healthy", (), None)


def test_what_nobody_can_change_here_is_shown_and_stays(world: World) -> None:
    world.proofs = iter([proof("failed")])
    world.shadow.unlink()
    world.changes = {
        "drivers": (replace(healthy.HEALTHY.drivers[0], version="450.0", cuda="11.0"),)
    }
    watcher = Watcher({"Make these": False})
    outcome = world.fix(watcher)
    assert outcome.status == "stuck"
    assert [p.changes for p in watcher.plans] == [()]
    assert "driver-too-old" in {p.id for p in outcome.problems}


def test_one_problem_that_hides_another_is_a_second_round(world: World) -> None:
    """Each shadow is seen only when the one before it is gone."""
    world.hidden = [world.root / "torch.py"]
    world.hidden[0].write_text("x")
    world.proofs = iter([proof("failed"), proof("failed"), proof("passed")])
    watcher = Watcher()
    outcome = world.fix(watcher)
    assert (outcome.status, outcome.problems) == ("proven", ())
    assert len(watcher.plans) == len(outcome.journals) == 2


def test_there_is_an_end_to_problems_that_hide_others(world: World) -> None:
    world.hidden = [world.root / f"shadow{n}.py" for n in range(fixing.MAX_ROUNDS)]
    for path in world.hidden:
        path.write_text("x")
    world.proofs = iter([proof("passed")] * 9)
    watcher = Watcher()
    outcome = world.fix(watcher)
    assert len(watcher.plans) == len(outcome.journals) == fixing.MAX_ROUNDS
    assert [p.id for p in outcome.problems] == ["script-shadows-triton"]
    assert [path.exists() for path in world.hidden] == [False] * (fixing.MAX_ROUNDS - 1) + [True]


def test_a_report_that_cannot_be_kept_is_not_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file of that name")
    world.proofs = iter([proof("failed"), proof("failed")])
    outcome = world.fix(Watcher())
    assert (outcome.status, outcome.snapshot) == ("stuck", None)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_check_that_crashed_is_no_health(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], dry_run: bool
) -> None:
    def crash(facts: Facts) -> Any:
        raise ZeroDivisionError

    checks = [Check(id="triton-missing", run=crash)]
    monkeypatch.setattr(fixing, "CHECKS", checks)
    world.proofs = iter([proof("passed")])
    outcome = world.fix(Watcher(), dry_run=dry_run)
    assert (outcome.status, outcome.good) == ("planned" if dry_run else "stuck", False)
    Screen().show(*of_fix(healthy.HEALTHY, outcome))
    assert f"check {checks[0].id} failed" in capsys.readouterr().out


def test_no_target_is_said(world: World) -> None:
    with pytest.raises(CannotRemedyError, match="no target interpreter"):
        world.fix(Watcher(), healthy.changed(target=None))


@pytest.mark.parametrize("named", [True, False])
def test_a_python_that_nobody_named_and_that_has_nothing_is_not_repaired(
    world: World, named: bool
) -> None:
    world.changes = {"torch": None, "triton": None, "distributions": ()}
    other = replace(healthy.TARGET, executable="C:\\ComfyUI\\python.exe", packages={"torch": "2"})
    bare = world.collect()
    facts = replace(bare, interpreters=(world.target, other))
    watcher = Watcher()
    if named:
        assert world.fix(watcher, facts, dry_run=True).status == "planned"
        return
    with pytest.raises(CannotRemedyError, match="neither torch nor Triton") as refused:
        world.fix(watcher, facts, named=False)
    assert "tritonwin fix --python C:\\ComfyUI\\python.exe" in refused.value.help
    with pytest.raises(CannotRemedyError) as refused:
        world.fix(watcher, bare, named=False)
    assert f"--python {world.python}" in refused.value.help
    assert watcher.plans == []


@pytest.mark.parametrize("left", ["torch", "triton", "distributions"])
def test_a_python_that_has_one_of_them_is_meant(world: World, left: str) -> None:
    bare: dict[str, Any] = {"torch": None, "triton": None, "distributions": ()}
    has = {"distributions": (healthy.dist("triton-windows", "3.5.1.post24"),)}
    world.changes = {**bare, left: has.get(left) or getattr(healthy.HEALTHY, left)}
    assert world.fix(Watcher(), named=False, dry_run=True).status == "planned"


def test_why_this_python_is_repaired_is_said(world: World) -> None:
    watcher = Watcher()
    world.fix(watcher, named=False, dry_run=True)
    assert watcher.said == [f"repairing {world.python}: {world.target.source}"]


def test_pip_and_the_places_of_wheels_are_asked_for_once(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each round plans; looking around again would take its time."""
    asked: list[str] = []

    def find_pip(*_: object) -> Pip:
        asked.append("pip")
        return Pip(("pip",), "25.0")

    def sources_for(*_: object, **options: Any) -> Sources:
        asked.append("sources")
        assert (options["lists"], options["offline"]) == ((str(tmp_path),), True)
        return Sources(lists=options["lists"], offline=True)

    monkeypatch.setattr(fixing, "find_pip", find_pip)
    monkeypatch.setattr(fixing, "sources_for", sources_for)
    options = fixing.FixOptions(lists=(str(tmp_path),), offline=True)
    context = fixing.planning(options, world.collect(), world.host)
    assert context.pip() is context.pip()
    assert context.sources() is context.sources()
    assert asked == ["pip", "sources"]


@pytest.mark.parametrize("undo", [True, False])
def test_what_makes_it_worse_can_be_given_back(world: World, undo: bool) -> None:
    world.proofs = iter([proof("passed"), proof("failed")])
    outcome = world.fix(Watcher({"got worse": undo}))
    assert outcome.status == ("undone" if undo else "stuck")
    assert world.shadow.exists() is undo


@pytest.mark.parametrize("state", ["passed", "failed"])
def test_what_changed_since_the_last_proof_is_proven_again(world: World, state: RungState) -> None:
    world.shadow.unlink()
    driver = replace(healthy.HEALTHY.drivers[0], version="570.00")
    write_proven(replace(world.collect(), drivers=(driver,)), world.host.env)
    world.proofs = iter([proof(state)])
    assert world.fix(Watcher()).status == ("proven" if state == "passed" else "stuck")
    kept = read_proven(world.target, world.host.env)
    assert kept
    assert kept.driver == ("581.57" if state == "passed" else "570.00")


def test_only_what_was_asked_for_is_solved(world: World) -> None:
    outcome = world.fix(Watcher(), only=("cc-variable-wrong",))
    assert outcome.status == "healthy"
    assert world.shadow.exists()


def test_the_same_plan_twice_means_stuck(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.proofs = iter([proof("passed")] * 5)
    monkeypatch.setattr(fixing, "apply_plan", lambda *args, **options: "journal")
    outcome = world.fix(Watcher())
    assert outcome.status == "stuck"
    assert [p.id for p in outcome.problems] == ["script-shadows-triton"]
    assert outcome.journals == ("journal",)


def cut_off(world: World) -> Path:
    """An earlier change that was killed in the middle: a file is away, the journal open."""
    victim = world.env / "kept.txt"
    victim.write_text("kept")
    journal = Journal.begin(world.store, target=str(world.python), title="earlier")
    journal.delete(victim)
    return victim


def test_what_was_cut_off_is_undone_first(world: World) -> None:
    world.proofs = iter([proof("passed")] * 2)
    victim = cut_off(world)
    watcher = Watcher()
    assert world.fix(watcher).status == "proven"
    assert victim.read_text() == "kept"
    assert any("earlier" in text for text in watcher.said)


def test_what_was_cut_off_is_not_ignored(world: World) -> None:
    cut_off(world)
    with pytest.raises(CannotRemedyError, match="in the middle") as refused:
        world.fix(Watcher({"Undo it first": False}))
    assert "tritonwin undo" in refused.value.help


def test_one_fix_at_a_time(world: World) -> None:
    from tritonwin.journal import TargetBusyError

    world.proofs = iter([proof("passed")] * 2)
    with world.store.lock(str(world.python)), pytest.raises(TargetBusyError):
        world.fix(Watcher())


@pytest.mark.parametrize(("journals", "said"), [(("1",), True), ((), False)])
def test_what_runs_already_has_to_be_started_again(
    capsys: pytest.CaptureFixture[str], journals: tuple[str, ...], said: bool
) -> None:
    Screen().show(*of_fix(healthy.HEALTHY, FixResult(status="proven", journals=journals)))
    assert ("start it again" in capsys.readouterr().out) is said
