"""Screens as people see them, approved as a whole at 80 and 120 columns; none is too long."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import approved
import healthy
import machines
import planning
import pytest
from report_pages import where_users_have_it
from screens import LONGEST, LONGEST_HEALTHY, height, screen

from tritonwin.build.order import Order
from tritonwin.build.planner import plan
from tritonwin.cli.app import run
from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts
from tritonwin.journal import Store
from tritonwin.output import building, changes, proof, terminal
from tritonwin.output.view import of_diagnosis, of_explanation
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.explain import explain_lines
from tritonwin.remedies import install
from tritonwin.remedies.install import InstallOptions
from tritonwin.remedies.planner import make_plan
from tritonwin.remedies.records import FixResult, PlanEvent, ProofEvent, StepEvent
from tritonwin.support import chooser, install_plan
from tritonwin.support.wheel_files import WheelContent
from tritonwin.system.codec import map_text
from tritonwin.verify import records
from tritonwin.verify.records import RungResult, RungState

Show = Callable[[Path], object]


@pytest.fixture(autouse=True)
def wheels_that_lie_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stand-ins for what fetches wheels, and for pip; lists are files of the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chooser, "look_into", lambda *_, **__: WheelContent(requires=()))
    monkeypatch.setattr(install, "find_pip", lambda *_: planning.ReportingPip(("pip",)))
    monkeypatch.setattr(
        install_plan, "sources_for", lambda *_, lists, **__: planning.Sources(lists=lists)
    )


def of_snapshot(name: str) -> Show:
    with resources.as_file(resources.files("tritonwin.demo").joinpath("snapshots")) as folder:
        facts = map_text(snapshot.read(folder / f"{name}.json"), where_users_have_it)
    view = of_diagnosis(facts, diagnose(facts, CHECKS), here=False)
    return lambda _: terminal.print_view(view)


def of_log(*lines: str) -> Show:
    view = of_explanation(explain_lines(lines), "comfyui.log")
    return lambda _: terminal.print_view(view)


def passed(name: str, title: str) -> RungResult:
    return RungResult(id=name, title=title, state="passed", detail="seen", seconds=1)


def of_ladder(broken: str | None) -> Show:
    """A ladder on a machine without a GPU; `broken`: the rung that fails."""
    results = []
    for number, rung in enumerate(records.load().rung[:20]):  # those that come will not matter
        state: RungState = "passed" if number < 8 else "not-applicable"
        plain = replace(passed(rung.id, rung.title), state=state)
        if rung.id == broken:
            lines = "\n".join(f"line {n} of the traceback" for n in range(30))
            problems = ("ptxas-not-found",)
            plain = replace(plain, state="failed", traceback=lines, problems=problems)
        results.append(plain)
    rungs = records.load().rung[: len(results)]
    return lambda _: proof.print_climb(healthy.changed(), iter(results), rungs, ladder=len(results))


BOTH = healthy.changed(
    distributions=(*healthy.HEALTHY.distributions, healthy.dist("triton", "3.5.1"))
)

NEWEST = healthy.changed(
    distributions=(
        *healthy.without("triton-windows"),
        healthy.dist("triton-windows", "3.5.1.post21"),
    )
)


def fixing(facts: Facts, *, proven: bool) -> Show:
    """fix, told to change nothing, or agreed to; the wheels are addresses alone."""

    def show(folder: Path) -> None:
        problems = tuple(p for p in diagnose(facts, CHECKS).problems if p.severity != "info")
        wheels = planning.index(folder, planning.everything())
        made = make_plan(problems, planning.means(facts, wheels))
        printer = partial(changes.follow, terminal.Meter())
        printer(StepEvent(text="repairing C:\\ComfyUI\\python_embeded\\python.exe: --python"))
        printer(PlanEvent(plan=made))
        if not proven:
            terminal.show(*changes.of_fix(facts, FixResult(status="planned", plans=(made,))))
            return
        for change in made.changes:
            printer(StepEvent(text=change.what))
        rungs = records.load().rung[:8]
        printer(ProofEvent(rungs=tuple(passed(rung.id, rung.title) for rung in rungs)))
        terminal.show(
            *changes.of_fix(facts, FixResult(status="proven", journals=("251128-120000-000001",)))
        )

    return show


def of_install(facts: Facts, request: str) -> Show:
    def show(folder: Path) -> None:
        sage = [
            planning.wheel("sageattention", f"2.2.0+cu128torch{torch}.post6", "cp39-abi3-win_amd64")
            for torch in ("2.7.1", "2.8.0", "2.9.1")
        ]
        planning.index(folder, [*planning.everything(), *sage])
        options = InstallOptions(
            requests=install_plan.parse_requests([request]), lists=("wheels.txt",), dry_run=True
        )
        printer = partial(changes.follow, terminal.Meter())
        store = Store(folder / "journals")
        done = install.install(options, facts, store, agree=lambda _: False, on_event=printer)
        terminal.show(*changes.of_installation(done))

    return show


def of_build(**facts: Any) -> Show:
    def show(folder: Path) -> None:
        machine = machines.windows(folder, **facts)
        terminal.show(
            *building.of_build_plan(plan(Order(recipe="flash-attn", anyway=True), machine))
        )

    return show


def of_snapshot_command(folder: Path) -> None:
    run(["snapshot", "--python", sys.executable, "-o", str(folder / "tritonwin-report.json")])


SCREENS: dict[str, Show] = {
    "healthy": of_snapshot("healthy"),
    "no-headers": of_snapshot("no-headers"),
    "wrong-pair": of_snapshot("wrong-pair"),
    "blackwell": of_snapshot("blackwell"),
    "cc-list": of_snapshot("cc-list"),
    "explain-certain": of_log("compiled_autograd.h(1): error C2872: 'std': ambiguous symbol"),
    "explain-possible": of_log("RuntimeError: 0 active drivers ([]). There should only be one."),
    "explain-unknown": of_log("Traceback (most recent call last):", "ValueError: no idea"),
    "verify-without-gpu": of_ladder(None),
    "verify-broken": of_ladder("ptxas"),
    "fix-plan": fixing(BOTH, proven=False),
    "fix-proven": fixing(BOTH, proven=True),
    "install-plan": of_install(healthy.HEALTHY, "sageattention"),
    "install-nothing-fits": of_install(healthy.HEALTHY, "sageattention==1.0.6"),
    "install-there-already": of_install(NEWEST, "triton-windows<3.6"),
    "build-plan": of_build(),
    "build-refused": of_build(cuda_toolkits=(machines.toolkit("11.8"),)),
    "snapshot": of_snapshot_command,
}
LIMITS = {
    "healthy": LONGEST_HEALTHY,
    "install-there-already": LONGEST_HEALTHY,
    "snapshot": LONGEST_HEALTHY,
    "explain-possible": 2 * LONGEST,
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", SCREENS)
def test_screens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, width: int) -> None:
    text = screen(monkeypatch, lambda: SCREENS[name](tmp_path), width)
    text = text.replace(str(tmp_path), "...")
    assert text.isascii()
    assert not any(line.endswith(" ") for line in text.splitlines())
    assert height(text, width) <= LIMITS.get(name, LONGEST)
    approved.check(f"screens/{name}-{width}.txt", text)
