"""Versions, paths and names that logs give away, and conditions on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import healthy
import pytest
from cases import cases
from pc import pc

from tritonwin.facts.records import Facts, Variable
from tritonwin.problems import explain
from tritonwin.problems.conditions import allows
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.explain.log_facts import LogFacts, Match, capability, facts_at, kind_of

ROWS = cases("lines.toml", "snapshots")
KEYS = {"is", "is_not", "unknown"}


@pytest.mark.parametrize(("line", "known"), cases("lines.toml", "gives_away"))
def test_what_a_line_gives_away(line: str, known: str) -> None:
    assert known in [item.text for item in explain_lines([line]).known]


@pytest.mark.parametrize(
    "line",
    ["torchvision 0.20.1", "torch 20 days", "pip 24.0", "triton is not installed", "Python 2.7.18"],
)
def test_what_gives_nothing_away(line: str) -> None:
    assert explain_lines([line]).known == ()


@pytest.mark.parametrize(("place", "kind"), cases("lines.toml", "kinds"))
def test_kinds_of_interpreters(place: str, kind: str) -> None:
    assert kind_of(place) == kind


@pytest.mark.parametrize("row", cases("lines.toml", "capabilities"))
def test_capabilities_by_name(row: tuple[str, ...]) -> None:
    name, *known = row
    assert capability(name) == next(iter(known), None)


def log(**values: str) -> LogFacts:
    found = LogFacts()
    for number, (name, value) in enumerate(values.items(), 1):
        found.add(Match(number, f"{name} is {value}", {name: value}))
    return found


def verdict(fact: str, *allowed: str, snapshot: Facts | None = None, **values: str) -> bool | None:
    seen = log(**values)
    return allows(fact, allowed, explain._value(fact, facts_at(seen, 99, snapshot), seen, 99))


@pytest.mark.parametrize("row", cases("lines.toml", "conditions"))
def test_conditions(row: tuple[Any, ...]) -> None:
    fact, allowed, values, *expected = row
    assert verdict(fact, *allowed, **values) is next(iter(expected), None)


def test_a_variable_in_the_log_takes_none_of_the_snapshots_others() -> None:
    snapshot = replace(
        healthy.HEALTHY,
        variables=(
            Variable(name="CC", value="cl.exe", scope="process"),
            Variable(name="TRITON_OVERRIDE_ARCH", value="gfx1030", scope="process"),
        ),
    )
    found = facts_at(log(override_arch="gfx1100"), 99, snapshot)
    values = {variable.name: variable.value for variable in found.variables}
    assert values == {"CC": "cl.exe", "TRITON_OVERRIDE_ARCH": "gfx1100"}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_snapshot_says(row: dict[str, Any]) -> None:
    machine = pc({name: value for name, value in row.items() if name not in KEYS})
    for key, expected in (("is", True), ("is_not", False), ("unknown", None)):
        for fact, allowed in row.get(key, {}).items():
            assert verdict(fact, allowed, snapshot=machine) is expected, (fact, allowed)


def test_what_a_log_says_comes_before_what_a_snapshot_says() -> None:
    assert verdict("torch", "==2.9.1", snapshot=healthy.HEALTHY, torch="1.0.0") is False
    assert verdict("triton", "absent") is None


def test_the_value_in_force_is_the_last_one_before_the_line() -> None:
    found = LogFacts()
    for line, version in ((5, "2.5.1"), (9, "2.6.0"), (9, "2.6.0")):
        found.add(Match(line, "", {"torch": version}))
    at = {line: found.value(line, "torch") for line in (1, 5, 8, 9, 50)}
    assert at == {1: "2.5.1", 5: "2.5.1", 8: "2.5.1", 9: "2.6.0", 50: "2.6.0"}
    assert found.value(1, "triton") is None


def test_the_machine_as_a_log_describes_it() -> None:
    seen = log(
        prefix="D:/app/venv", python="3.12.9", torch="2.7.0+cu128", triton="3.3.1",
        gpu_name="NVIDIA GeForce RTX 3090", driver="581.57", msc="19.44.35207", setuptools="65.5.0",
    )  # fmt: skip
    told = facts_at(seen, 99, None)
    assert (told.target.executable, told.target.kind, told.target.version, told.target.prefix) == (
        r"D:\app\venv\Scripts\python.exe", "venv", "3.12.9", r"D:\app\venv",
    )  # fmt: skip
    assert (told.torch.version, told.torch.cuda) == ("2.7.0+cu128", "12.8")
    assert (told.triton.version, told.triton.flavour) == ("3.3.1", "unknown")
    assert [(g.vendor, g.name, g.compute_capability) for g in told.gpus] == [
        ("nvidia", "NVIDIA GeForce RTX 3090", "8.6")
    ]
    assert [(d.vendor, d.version) for d in told.drivers] == [("nvidia", "581.57")]
    assert [(m.version, m.chosen) for m in told.msvc] == [("14.44.35207", True)]
    assert [(d.name, d.version) for d in told.distributions] == [("setuptools", "65.5.0")]
    records = (told.target, told.torch, told.triton, *told.gpus, *told.drivers, *told.msvc)
    assert {r.source for r in records} == {"the log"}


def test_a_log_names_a_toolset_before_its_compiler() -> None:
    seen = log(msvc="14.39.33519", msc="19.44.35207", gpu_name="AMD Radeon RX 7900")
    told = facts_at(seen, 99, None)
    assert [m.version for m in told.msvc] == ["14.39.33519"]
    assert [g.vendor for g in told.gpus] == ["amd"]


def test_what_the_log_says_replaces_what_the_snapshot_says_and_nothing_else() -> None:
    told = facts_at(log(setuptools="65.5.0", torch="2.5.0", cuda="12.4"), 99, healthy.HEALTHY)
    assert told.triton == healthy.HEALTHY.triton
    assert (told.torch.version, told.torch.cuda) == ("2.5.0", "12.4")
    names = [d.name for d in told.distributions]
    assert names.count("setuptools") == 1
    assert set(names) == {d.name for d in healthy.HEALTHY.distributions}
    assert facts_at(log(), 99, healthy.HEALTHY) == healthy.HEALTHY
