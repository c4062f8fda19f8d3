"""The planner: every problem answered or left with a reason, in an order that cannot contradict."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import approved
import healthy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import parse_wheel_filename
from planning import CUDAS, TORCHES, TRITONS, everything, index, means, wheel

from tritonwin.facts.history import PatchedFile
from tritonwin.facts.records import Facts, PthFile, Torch, Triton, Variable
from tritonwin.problems import catalogue
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Action, Problem, Remedy
from tritonwin.remedies.apply import KINDS
from tritonwin.remedies.plan import ApplyPatch, InstallWheels, Plan
from tritonwin.remedies.planner import PLAN, make_plan
from tritonwin.support import chooser, versions
from tritonwin.support.fitting import needs_of
from tritonwin.support.wheel_files import WheelContent
from tritonwin.support.wheels import supported_tags
from tritonwin.system.codec import from_json, to_json


@pytest.fixture(autouse=True)
def wheels_that_are_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The addresses of these tests lead nowhere: a stand-in for what fetches them."""
    monkeypatch.setattr(chooser, "look_into", lambda *_, **__: WheelContent(requires=()))


def problem(problem_id: str, *actions: Action) -> Problem:
    return healthy.problem(problem_id, remedy=Remedy(summary="Do it."), actions=actions)


@pytest.fixture(scope="module")
def all_wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return index(tmp_path_factory.mktemp("wheels"), everything())


# -- what becomes of problems


def test_one_change_for_all_that_ask_for_it() -> None:
    unset = Action(name="set-variable", arguments={"variable": "CUDA_PATH"})
    asked = [problem("cuda-path-wrong", unset, unset), problem("ptxas-older-than-ptx", unset)]
    plan = make_plan(asked, means(healthy.HEALTHY))
    assert [c.problems for c in plan.changes] == [("cuda-path-wrong", "ptxas-older-than-ptx")]


def test_the_patch_waits_for_the_triton_that_the_same_plan_installs(
    all_wheels: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = PatchedFile(file="a.py", before="1", after="2", rules=("x",))
    patch = ApplyPatch(package="triton", files=(old,), what="patch it")
    monkeypatch.setitem(PLAN, ApplyPatch.action, lambda _: patch)
    install = Action(name="install-distribution", arguments={"requirement": "triton-windows<3.6"})
    asked = [
        problem("triton-and-fork-both-installed", install),
        problem("cuda-path-wrong", Action(name="patch")),
    ]
    plan = make_plan(asked, means(healthy.HEALTHY, all_wheels))
    assert [type(change) for change in plan.changes] == [InstallWheels]
    assert [(u.problem, "first" in u.reason) for u in plan.unsolved] == [("cuda-path-wrong", True)]
    alone = make_plan(asked[1:], means(healthy.HEALTHY))
    assert [type(change) for change in alone.changes] == [ApplyPatch]


def test_half_a_repair_is_none() -> None:
    facts = healthy.changed(variables=(Variable(name="CC", value="x", scope="machine"),))
    cache = {"variable": "TRITON_HOME", "value": "C:\\tw"}
    asked = problem(
        "cc-variable-wrong",
        Action(name="set-variable", arguments=cache),
        Action(name="set-variable", arguments={"variable": "CC"}),
    )
    plan = make_plan([asked], means(facts))
    assert plan.changes == ()
    assert ["all users" in left.reason for left in plan.unsolved] == [True]


def test_what_no_wheel_fits_is_left_with_its_reason(all_wheels: list[Path]) -> None:
    install = Action(name="install-distribution", arguments={"requirement": "triton-windows<1"})
    plan = make_plan([problem("triton-missing", install)], means(healthy.HEALTHY, all_wheels))
    assert plan.changes == ()
    assert "no wheel fits" in plan.unsolved[0].reason
    assert "tritonwin install" in plan.unsolved[0].help


def test_without_rights_the_rest_of_the_plan_goes_on() -> None:
    facts = healthy.changed(
        variables=(Variable(name="CC", value="x", scope="machine"),), system=healthy.SYSTEM
    )
    asked = [
        problem("cc-variable-wrong", Action(name="set-variable", arguments={"variable": "CC"})),
        problem("max-path-260", Action(name="enable-long-paths")),
    ]
    plan = make_plan(asked, replace(means(facts), machine_wide=True))
    assert [c.action for c in plan.changes] == ["set-variable", "set-variable"]
    assert "needs administrator rights: " in plan.unsolved[0].reason
    assert "in a terminal started as administrator" in plan.unsolved[0].help


# -- whole plans


_COMMON = {f.name for f in fields(InstallWheels)}


def told(plan: Plan) -> Iterator[str]:
    for change in plan.changes:
        admin = ", as administrator" if change.admin else ""
        yield f"{change.action}{admin} for {', '.join(change.problems)}: {change.what}"
        yield f"  because: {change.why}"
        own = (f.name for f in fields(change) if f.name not in _COMMON)
        yield from (f"  {name} = {getattr(change, name)}" for name in own)
        yield from (f"  from {s.name} {s.version}" for s in change.sources)
        yield from (f"  removes {path}" for path in change.removes)
        yield from [f"  note: {change.note}"] if change.note else []
    for left in plan.unsolved:
        yield f"left: {left.problem}, {left.reason}"
        yield f"  help: {left.help}"


def test_whole_plans(all_wheels: list[Path]) -> None:
    both = (*healthy.HEALTHY.distributions, healthy.dist("triton", "3.5.1"))
    hidden = PthFile(path="p._pth", entries=(".",), import_site=False)
    cpu = replace(
        healthy.part("torch", version="2.9.1+cpu", cuda=None),
        distributions=(*healthy.without("torch"), healthy.dist("torch", "2.9.1+cpu")),
    )
    flash = healthy.dist("flash-attn", "2.8.3+cu128torch2.8.0")
    wrong = healthy.variable("NVCC_THREADS", "4 ", "trailing-blank")
    machines = {
        "healthy": healthy.HEALTHY,
        "both Tritons": healthy.changed(distributions=both),
        "both Tritons, packages out of sight, a wrong variable": replace(
            healthy.HEALTHY,
            distributions=both,
            target=replace(healthy.TARGET, pth=hidden),
            variables=(wrong,),
        ),
        "torch for the CPU": cpu,
        "torch for the CPU, no Triton": replace(
            cpu, triton=None, distributions=(healthy.dist("torch", "2.9.1+cpu"),)
        ),
        "an extension for another torch": healthy.changed(
            distributions=(*healthy.HEALTHY.distributions, flash)
        ),
        "an old driver and an old GPU": healthy.changed(
            gpus=(healthy.gpu("6.1"),),
            drivers=tuple(replace(d, cuda="11.8") for d in healthy.HEALTHY.drivers),
        ),
        "a wrong variable": healthy.changed(variables=(wrong, replace(wrong, scope="machine"))),
        "a torch without a Triton": healthy.part("torch", version="2.3.1", cuda="12.1"),
    }
    lines = []
    for name, facts in machines.items():
        problems = diagnose(facts, CHECKS).problems
        here = replace(means(facts, all_wheels), machine_wide=True)
        lines += ["", f"# {name}", *told(make_plan(problems, here))]
    text = re.sub(r"/\S*wheels\d*/", "<folder>/", "\n".join(lines[1:]))
    approved.check("fix-plans.txt", f"{text}\n")


@pytest.mark.parametrize(
    ("torch", "triton", "expected"),
    [
        ("2.9.1+cpu", "3.8.0", "3.5.1"),  # its metadata names no Triton: the table does
        ("2.9.1+cu128", "3.2.0", "3.5.1"),
        ("2.9.1+cu128", None, "3.5.1"),
        ("2.9.1+cu128", "3.5.0", None),
        # another torch is installed, which brings its own
        ("2.9.1+cpu and a GPU", "3.8.0", None),
    ],
)
def test_on_linux_the_pair_is_upstreams(
    tmp_path: Path, torch: str, triton: str | None, expected: str | None
) -> None:
    tag = "cp312-cp312-linux_x86_64"
    wheels = [wheel("triton", version, tag) for version in ("3.5.1", "3.8.0", "3.9.0")]
    wheels.append(wheel("triton-windows", "3.5.1.post24", "cp312-cp312-win_amd64"))
    wheels.append(wheel("torch", "2.10.0+cu130", tag))
    upstream = (healthy.dist("triton", triton),) if triton else ()
    facts = healthy.changed(
        gpus=() if torch.endswith("+cpu") else healthy.HEALTHY.gpus,
        system=replace(healthy.HEALTHY.system, os="linux"),
        target=replace(healthy.TARGET, platform_tag="linux_x86_64"),
        torch=_torch(torch.split()[0]),
        triton=_triton(triton) if triton else None,
        distributions=(healthy.dist("torch", torch.split()[0]), *upstream),
    )
    plan = planned(facts, index(tmp_path, wheels))
    found = [(s.name, s.version) for s in sources(plan) if s.name != "torch"]
    assert ("torch" in {s.name for s in sources(plan)}) is torch.endswith("GPU"), plan.unsolved
    assert found == ([("triton", expected)] if expected else []), plan.unsolved


@pytest.mark.parametrize("version", ["2.9.1", "2.9.1rc1"])
def test_the_torch_that_is_there_comes_as_a_build_for_cuda(tmp_path: Path, version: str) -> None:
    tag = "cp312-cp312-win_amd64"
    wheels = [wheel("torch", v, tag) for v in (f"{version}+cu128", "2.10.0+cu128")]
    distributions = (healthy.dist("torch", f"{version}+cpu"),)
    facts = healthy.changed(torch=_torch(f"{version}+cpu"), distributions=distributions)
    plan = planned(facts, index(tmp_path, wheels))
    assert ("torch", f"{version}+cu128") in {(s.name, s.version) for s in sources(plan)}


# -- properties


@st.composite
def machines(draw: st.DrawFn) -> Facts:
    """A PC with some torch, some Triton, some GPU and driver, that may fit or not."""
    torch = draw(st.sampled_from([None, *TORCHES]))
    cuda = draw(st.sampled_from(CUDAS))
    triton = draw(st.sampled_from([None, *TRITONS]))
    distributions = [healthy.dist("setuptools", "80.9.0")]
    if torch:
        distributions.append(healthy.dist("torch", f"{torch}+{cuda}"))
    if triton:
        distributions.append(healthy.dist("triton-windows", triton))
    if draw(st.booleans()):
        distributions.append(healthy.dist("triton", "3.5.1"))
    version = draw(st.sampled_from(["12.4", "12.6", "12.8", "13.0", "13.2"]))
    drivers = tuple(replace(d, cuda=version) for d in healthy.HEALTHY.drivers)
    return healthy.changed(
        distributions=tuple(distributions),
        torch=_torch(f"{torch}+{cuda}") if torch else None,
        triton=_triton(triton) if triton else None,
        gpus=(healthy.gpu(draw(st.sampled_from(["6.1", "7.5", "8.6", "8.9", "9.0", "12.0"]))),),
        drivers=drivers,
    )


def _torch(version: str) -> Torch:
    tag = version.partition("+")[2]
    cuda = f"{tag[2:-1]}.{tag[-1]}" if re.fullmatch(r"cu\d+", tag) else None
    torch: Torch = healthy.part("torch", version=version, cuda=cuda, wants_triton=None).torch  # type: ignore[assignment]
    return torch


def _triton(version: str) -> Triton:
    triton: Triton = healthy.part("triton", version=version.partition(".post")[0]).triton  # type: ignore[assignment]
    return triton


def planned(facts: Facts, wheels: list[Path]) -> Plan:
    problems = [p for p in diagnose(facts, CHECKS).problems if p.severity != "info"]
    return make_plan(problems, means(facts, wheels))


def after(facts: Facts, plan: Plan) -> Facts:
    """The facts as the plan's installations leave them."""
    gone = {path for change in plan.changes for path in change.removes}
    new = [healthy.dist(s.name, s.version) for s in sources(plan)]
    kept = [d for d in facts.distributions if d.location not in gone]
    found: dict[str, Any] = {}
    for distribution in new:
        if distribution.name == "torch":
            found["torch"] = _torch(distribution.version)
        if distribution.name == "triton-windows":
            found["triton"] = _triton(distribution.version)
    return replace(facts, distributions=(*kept, *new), **found)


def sources(plan: Plan) -> list[Any]:
    return [s for c in plan.changes if c.action == "install-distribution" for s in c.sources]


@settings(max_examples=120)
@given(machines())
def test_every_plan(all_wheels: list[Path], facts: Facts) -> None:
    problems = [p for p in diagnose(facts, CHECKS).problems if p.severity != "info"]
    plan = make_plan(problems, means(facts, all_wheels))
    assert from_json(Plan, to_json(plan)) == plan
    found = after(facts, plan)
    triton, new = found.distribution("triton-windows"), sources(plan)
    # no pair that the matrix forbids
    if found.torch and triton and new:
        assert needs_of(found).takes(triton.version), plan
    # never downhill: neither to partial support of a card, nor from CUDA to the CPU
    assert not (facts.torch and facts.torch.cuda) or (found.torch and found.torch.cuda), plan
    before = facts.distribution("triton-windows")
    if facts.gpus[0].compute_capability == "7.5" and before and _supports_7_5(before.version):
        assert triton is None or _supports_7_5(triton.version), plan
    # no wheel whose tags do not fit
    assert facts.target
    tags = set(supported_tags(facts.target))
    for source in new:
        name, version, _, of_wheel = parse_wheel_filename(source.location.rpartition("/")[2])
        assert set(of_wheel) & tags
        assert name != "torch" or (version.local or "").startswith("cu")
        assert source.sha256
    # every problem is answered once, in an order in which none undoes another
    answered = {p for c in plan.changes for p in c.problems}
    unsolved = {u.problem for u in plan.unsolved}
    assert answered | unsolved == {p.id for p in problems}
    assert not answered & unsolved
    places = [list(KINDS).index(type(change)) for change in plan.changes]
    assert places == sorted(places)
    bare = [replace(change, problems=(), why="") for change in plan.changes]
    assert all(change not in bare[:number] for number, change in enumerate(bare))
    assert all(u.reason for u in plan.unsolved)
    # a second plan installs nothing
    if "no-triton-for-torch-yet" in unsolved:
        # gone back to an older torch, it wants a Triton that there is: a second round of fix
        found = after(found, planned(found, all_wheels))
    again = planned(found, all_wheels)
    assert [(c.what, c.problems) for c in again.changes if c.sources] == [], plan


def _supports_7_5(triton: str) -> bool:
    return versions.older(triton, "3.3")


def test_every_action_of_the_catalogue_is_known() -> None:
    """The planner is the one place that knows them."""
    entries = catalogue.load().entries.values()
    actions = [a for e in entries for a in e.actions]
    assert all(len({a.name for a in e.actions}) < 2 for e in entries)
    assert {a.name for a in actions} == {*PLAN, InstallWheels.action}
    for action in actions:
        if action.name == InstallWheels.action:
            assert {"requirement"} <= set(action.arguments) <= {"requirement", "cuda", "chip"}
        else:
            inspect.signature(PLAN[action.name]).bind(None, **action.arguments)
