"""No advice names what was not read, goes downhill or fills a gap, whatever is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, NoReturn

import healthy
import pytest
from hosts import fake_host
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tritonwin.facts.records import Facts, Triton
from tritonwin.problems import catalogue
from tritonwin.problems.advice import advise, triton_spec
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.conditions import value_of
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Action, Evidence, Finding, Problem
from tritonwin.remedies import distributions
from tritonwin.remedies.context import PlanContext
from tritonwin.remedies.plan import CannotRemedyError
from tritonwin.remedies.planner import make_plan
from tritonwin.system.codec import Json, to_json

TORCHES = ("2.3.1+cu121", "2.5.1+cu124", "2.6.0+cu124", "2.9.1+cpu", "2.9.1+cu128", "2.13.0+cu130")
# values that a finding alone supplies
OF_FINDINGS = (
    "path", "value", "new_value", "variable", "cache", "dll", "dll_version", "package",
    "package_version", "distribution", "toolset",
)  # fmt: skip
VALUES = (r"C:\a b\c.dll", "value", "3.5.1", 'x" & calc "', "%PATH%")
ROCM = "2.9.1+rocm7.1"
XPU = "2.9.1+xpu"
TRITONS = ("3.1.0", "3.2.0", "3.3.1", "3.5.1", "3.7.0")
INTELS = Triton(
    version=None, location="", source="the log", flavour="unknown", distribution="triton-xpu"
)
# what the code computes and does not read: held to the facts one by one in `hold`
COMPUTED = {"python", "triton_spec", "cuda_tag", "torch_index", "torch_pairs"}
# what puts triton-windows over the Triton of a torch for Intel GPUs
OVERWRITES = re.compile(
    r"\b[Ii]nstall\b[^\n]{0,80}\btriton(?:-windows)?(?![\w-])|belongs to your torch"
)
FILLER = re.compile(r"not known|\bas installed|of another version|[{}]|\[[ ,:;]|  ")


@st.composite
def machines(draw: st.DrawFn) -> Facts:
    """The healthy machine with other versions, and any of its fields unknown."""
    version = draw(st.sampled_from((None, ROCM, XPU, *TORCHES)))
    series = draw(st.sampled_from((None, *TRITONS)))
    card = draw(st.sampled_from((None, "6.1", "7.5", "8.9", "12.0")))
    facts = healthy.changed(torch=None, triton=None, gpus=(), drivers=())
    if draw(st.booleans()) and facts.torch is None and facts.triton is None:
        facts = replace(facts, triton=INTELS)
    if version:
        tag = re.search(r"\+cu(\d\d)(\d)", version)
        torch = healthy.part("torch", version=version, wants_triton=None).torch
        assert torch
        hip = "7.1" if version == ROCM else None
        cuda = f"{tag[1]}.{tag[2]}" if tag else None
        facts = replace(facts, torch=replace(torch, cuda=cuda, hip=hip))
    if series:
        facts = replace(facts, triton=healthy.part("triton", version=series).triton)
    if card:
        facts = replace(facts, gpus=(healthy.gpu(card),))
    if draw(st.booleans()):
        facts = replace(facts, drivers=healthy.HEALTHY.drivers)
    if draw(st.booleans()):
        facts = replace(facts, target=None)
    return replace(
        facts, system=replace(facts.system, os=draw(st.sampled_from(("windows", "linux"))))
    )


@st.composite
def with_gaps(draw: st.DrawFn) -> Facts:
    """A machine as an older snapshot tells of it: any field that a record may lack is missing."""
    facts = draw(machines())

    def gaps(record: Any) -> Any:
        optional = [f for f in fields(record) if f.default is not MISSING and f.name != "schema"]
        lost = draw(st.sets(st.sampled_from(optional), max_size=4)) if optional else set()
        return replace(record, **{f.name: f.default for f in lost})

    parts: dict[str, Any] = {
        name: gaps(part)
        for name in ("target", "torch", "triton")
        if (part := getattr(facts, name)) is not None
    }
    parts |= {name: tuple(map(gaps, getattr(facts, name))) for name in ("gpus", "drivers", "msvc")}
    emptied = draw(st.sets(st.sampled_from([f.name for f in fields(facts) if f.default == ()])))
    return replace(facts, **parts, **{name: () for name in emptied if name not in parts})


def strings(tree: Json) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, (list, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from strings(item)


def values_in(command: str, templates: Iterable[str]) -> Iterator[str]:
    """The values that a command was filled with, by the template that it was made from."""
    for template in templates:
        form = re.sub(r"\\{([a-z_]+)\\}", r"(?P<\1>.+?)", re.escape(template), count=1)
        form = re.sub(r"\\{([a-z_]+)\\}", r".+?", form)
        if found := re.fullmatch(form, command):
            yield from (v for n, v in found.groupdict().items() if n not in COMPUTED)
            return


def hold(problem: Problem, facts: Facts, values: Mapping[str, str] = {}) -> None:
    entry = catalogue.load().entry(problem.id)
    read = {*strings(to_json(facts)), *values.values()}
    templates = [c for each in (entry.remedy, *entry.remedies) for c in each.commands]
    for command in problem.remedy.commands:
        assert set(values_in(command, templates)) <= read, command
    assert not [c for c in problem.remedy.commands if "--python python" in c]
    shown = [*problem.remedy.commands, *(v for a in problem.actions for v in a.arguments.values())]
    for text in shown:
        for spec in re.findall(r"\btriton(?:-windows)?[<=~][^\s\"]+", text):
            assert spec == triton_spec(facts), problem.id
        for version in re.findall(r"torch==([^\s\"]+)", text):
            assert facts.torch
            assert version == facts.torch.version
        if re.search(r"/cu\d+", text):
            assert facts.drivers, problem.id
            assert not (facts.torch and facts.torch.hip), problem.id
        assert not re.search(r"uninstall -y [^\n]*\btorch\b", text)
    asked = (problem.question.text, problem.question.command) if problem.question else ()
    for text in (problem.cause, problem.remedy.summary, *shown, *asked):
        assert not FILLER.search(text), text
    assert problem.cause.endswith(".") or not facts.windows
    assert problem.remedy.summary.endswith(".")
    assert problem.remedy.automatic == bool(problem.actions)
    assert not re.match(r"(?:Otherwise|Or)\b", problem.remedy.summary), problem.id
    if not facts.windows:
        texts = (problem.cause, problem.remedy.summary, *problem.remedy.commands, *asked)
        foreign = re.compile(r"triton-windows|Triton for Windows|^(?:winget|reg|setx|copy) ")
        assert not [text for text in texts if foreign.search(text)], problem.id
    build = value_of("torch_build", facts)
    said = (problem.remedy.summary, *shown, *asked)
    if build in ("rocm", "xpu"):
        assert not [text for text in said if "nvidia-smi" in text], problem.id
    if build == "xpu":
        assert not [text for text in said if OVERWRITES.search(text)], problem.id
    whole = facts.triton and facts.triton.version == "3.2.0"
    if whole and any(g.compute_capability == "7.5" for g in facts.gpus):
        later = re.compile(r"triton-windows<3\.(?:[4-9]|\d\d)|triton==3\.(?:[3-9]|\d\d)")
        assert not [text for text in shown if facts.windows and later.search(text)], problem.id


@settings(deadline=None, max_examples=150)
@given(machines() | with_gaps())
def test_doctor(facts: Facts) -> None:
    diagnosis = diagnose(facts, CHECKS)
    assert [c for c in diagnosis.checks if c.state == "crashed"] == []
    for problem in diagnosis.problems:
        hold(problem, facts)


@settings(deadline=None, max_examples=100)
@given(machines() | with_gaps(), st.booleans())
def test_fix(facts: Facts, admin: bool) -> None:
    """The plan's calls of pip and of this machine's tools are held to the same as printed commands."""
    assume(facts.target)
    asked: list[Action] = []

    def refuse(actions: Sequence[Action], _: PlanContext) -> NoReturn:
        asked.extend(actions)
        raise CannotRemedyError("no wheel is looked for here", "")

    problems = [p for p in diagnose(facts, CHECKS).problems if p.severity != "info"]
    facts = replace(facts, system=replace(facts.system, admin=admin))
    context = PlanContext(
        facts=facts, host=fake_host(Path("/nowhere")), pip=refuse, sources=refuse, offline=True
    )  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distributions, "plan_install", refuse)
        plan = make_plan(problems, context)
    for action in asked:
        for text in action.arguments.values():
            for spec in re.findall(r"^triton(?:-windows)?[<=~].*", text):
                assert spec == triton_spec(facts)
    for left in plan.unsolved:
        assert not FILLER.search(f"{left.reason} {left.help}"), left
    for change in plan.changes:
        assert not FILLER.search(f"{change.what} {change.why}"), change


@settings(deadline=None, max_examples=100)
@given(
    machines(),
    st.sampled_from(sorted(catalogue.load().entries)),
    st.dictionaries(st.sampled_from(OF_FINDINGS), st.sampled_from(VALUES)),
)
def test_every_entry(facts: Facts, problem: str, values: dict[str, str]) -> None:
    evidence = (Evidence(text="a line", where="line 1"),)
    found = Finding(id=problem, evidence=evidence, certainty="likely", values=values)
    hold(advise(found, facts), facts, values)


@pytest.mark.parametrize("problem", sorted(catalogue.load().entries))
@pytest.mark.parametrize("os", ["windows", "linux"])
@pytest.mark.parametrize("card", [None, "6.1", "7.5", "8.9", "12.0"])
def test_every_text_reads_alone_and_is_for_its_system(problem: str, os: str, card: str) -> None:
    """Also where the finding supplies no value, so that sentences are left out."""
    gpus = (healthy.gpu(card),) if card else ()
    for torch in (None, healthy.HEALTHY.torch):
        facts = healthy.changed(torch=torch, gpus=gpus, drivers=())
        facts = replace(facts, system=replace(facts.system, os=os))
        hold(advise(Finding(id=problem, evidence=(), certainty="certain"), facts), facts)
