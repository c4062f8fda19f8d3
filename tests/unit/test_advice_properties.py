"""No advice names what was not read, goes downhill or fills a gap, whatever is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import healthy
from hypothesis import given, settings
from hypothesis import strategies as st

from tritonwin.facts.records import Facts
from tritonwin.problems import catalogue
from tritonwin.problems.advice import advise, triton_spec
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Evidence, Finding, Problem
from tritonwin.system.codec import Json, to_json

TORCHES = ("2.3.1+cu121", "2.5.1+cu124", "2.6.0+cu124", "2.9.1+cpu", "2.9.1+cu128", "2.13.0+cu130")
# values that a finding alone supplies
OF_FINDINGS = (
    "path", "value", "new_value", "variable", "cache", "dll", "dll_version", "package",
    "package_version", "distribution", "toolset",
)  # fmt: skip
VALUES = (r"C:\a b\c.dll", "value", "3.5.1", 'x" & calc "', "%PATH%")
ROCM = "2.9.1+rocm7.1"
TRITONS = ("3.1.0", "3.2.0", "3.3.1", "3.5.1", "3.7.0")
# what the code computes and does not read: held to the facts one by one in `hold`
COMPUTED = {"python", "triton_spec", "cuda_tag", "torch_index", "torch_pairs"}
FILLER = re.compile(r"not known|\bas installed|of another version|[{}]|\[[ ,:;]|  ")


@st.composite
def machines(draw: st.DrawFn) -> Facts:
    """The healthy machine with other versions, and any of its fields unknown."""
    version = draw(st.sampled_from((None, ROCM, *TORCHES)))
    series = draw(st.sampled_from((None, *TRITONS)))
    card = draw(st.sampled_from((None, "6.1", "7.5", "8.9", "12.0")))
    facts = healthy.changed(torch=None, triton=None, gpus=(), drivers=())
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
    assert problem.remedy.summary.endswith(".")
    whole = facts.triton and facts.triton.version == "3.2.0"
    if whole and any(g.compute_capability == "7.5" for g in facts.gpus):
        later = re.compile(r"triton-windows<3\.(?:[4-9]|\d\d)|triton==3\.(?:[3-9]|\d\d)")
        assert not [text for text in shown if facts.windows and later.search(text)], problem.id


@settings(deadline=None, max_examples=100)
@given(machines())
def test_doctor(facts: Facts) -> None:
    for problem in diagnose(facts, CHECKS).problems:
        hold(problem, facts)


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
