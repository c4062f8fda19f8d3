"""Versions, paths and names that logs give away, and conditions on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import healthy
import pytest
from cases import cases

from tritonwin.facts.records import Facts, Variable
from tritonwin.problems import catalogue, explain
from tritonwin.problems.conditions import allows
from tritonwin.problems.explain import explain_lines
from tritonwin.problems.explain.log_facts import LogFacts, Match, capability, facts_at, kind_of


@pytest.mark.parametrize(("line", "known"), cases("lines.toml", "gives_away"))
def test_what_a_line_gives_away(line: str, known: str) -> None:
    assert known in [item.text for item in explain_lines([line]).known]


@pytest.mark.parametrize(
    "line", ["- **Embedded Python:** true", r"- **Arguments:** main.py --windows-standalone-build"]
)
def test_comfyuis_report_names_no_python_but_tells_which(line: str) -> None:
    target = explain_lines([line]).facts.target
    assert (target.executable, target.kind) == (r"python_embeded\python.exe", "embedded")


def test_the_environment_is_the_folder_above_scripts() -> None:
    target = explain_lines([r"C:\app\.venv\Scripts\python.exe main.py"]).facts.target
    assert target.prefix == r"C:\app\.venv"


def test_a_sentence_cut_in_two_names_no_gpu() -> None:
    assert not explain_lines(["Make sure you GPUs with compute", "capability 9.0."]).facts.gpus


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


def test_the_snapshot_fills_the_gaps() -> None:
    machine = healthy.changed()
    exact = f"=={machine.torch.version.partition('+')[0]}"
    assert verdict("torch", exact, snapshot=machine) is True
    assert verdict("torch", exact, snapshot=machine, torch="1.0.0") is False
    assert verdict("os", "windows", snapshot=machine) is True
    assert verdict("triton", "absent", snapshot=replace(machine, triton=None)) is True
    assert verdict("triton", "absent", snapshot=machine) is False
    assert verdict("triton", "absent") is None


@pytest.mark.parametrize(
    ("version", "cuda", "hip", "build"),
    [
        ("2.9.1+cpu", None, None, "cpu"),
        ("2.9.1+cu128", "12.8", None, "cuda"),
        ("2.9.1+rocm6.4", None, "6.4", "rocm"),
        ("2.9.1+xpu", None, None, "xpu"),
        # built by somebody: what it says of itself decides
        ("2.9.1+gitabc", "12.8", None, "cuda"),
        ("2.9.1+gitabc", None, "6.4", "rocm"),
        ("2.9.1", None, None, None),
    ],
)
def test_what_a_torch_is_built_for(
    version: str, cuda: str | None, hip: str | None, build: str | None
) -> None:
    machine = healthy.part("torch", version=version, cuda=cuda, hip=hip)
    for name in ("cpu", "cuda", "rocm", "xpu"):
        expected = None if build is None else name == build
        assert verdict("torch_build", name, snapshot=machine) is expected


NO_CAPABILITY = replace(healthy.gpu("9.9"), compute_capability=None)


@pytest.mark.parametrize(
    ("fact", "machine", "value"),
    [
        ("torch", healthy.HEALTHY, "==2.9.1"),
        ("torch", healthy.changed(torch=None), "absent"),
        ("triton", healthy.HEALTHY, "==3.5.1"),
        ("triton", healthy.part("triton", namespace=True), "absent"),
        ("python", healthy.HEALTHY, "==3.12.9"),
        ("python_kind", healthy.HEALTHY, "embedded"),
        ("cuda", healthy.HEALTHY, "==12.8"),
        ("driver", healthy.HEALTHY, "==581.57"),
        ("setuptools", healthy.HEALTHY, "==80.9.0"),
        ("gpu", healthy.changed(gpus=(NO_CAPABILITY, healthy.gpu("8.6"))), "==8.6"),
        (
            "msvc",
            healthy.changed(
                msvc=(replace(healthy.TOOLSET, version="14.50.1", chosen=False), healthy.TOOLSET)
            ),
            "==14.44.35207",
        ),
    ],
)
def test_what_a_snapshot_says(fact: str, machine: Facts, value: str) -> None:
    assert verdict(fact, value, snapshot=machine) is True


@pytest.mark.parametrize(
    ("fact", "machine"),
    [
        ("python", healthy.changed(target=None)),
        ("python_kind", healthy.changed(target=None)),
        ("python_kind", healthy.part("target", kind="unknown")),
        ("cuda", healthy.changed(torch=None)),
        ("torch_build", healthy.changed(torch=None)),
        ("driver", healthy.changed(drivers=())),
        ("gpu", healthy.changed(gpus=(NO_CAPABILITY,))),
        ("msvc", healthy.changed(msvc=(replace(healthy.TOOLSET, chosen=False),))),
    ],
)
def test_what_a_snapshot_does_not_say(fact: str, machine: Facts) -> None:
    assert verdict(fact, ">=0", "unknown", snapshot=machine) is None


def test_the_value_in_force_is_the_last_one_before_the_line() -> None:
    found = LogFacts()
    for line, version in ((5, "2.5.1"), (9, "2.6.0"), (9, "2.6.0")):
        found.add(Match(line, "", {"torch": version}))
    at = {line: found.value(line, "torch") for line in (1, 5, 8, 9, 50)}
    assert at == {1: "2.5.1", 5: "2.5.1", 8: "2.5.1", 9: "2.6.0", 50: "2.6.0"}
    assert found.value(1, "triton") is None


@pytest.mark.parametrize(
    ("fact", "allowed", "lines", "said"),
    [
        ("torch_build", "cpu", ["torch==2.5.1+cpu"], "torch==2.5.1+cpu"),
        ("cuda", ">=12", ["torch==2.5.1+cu128"], "torch==2.5.1+cu128"),
        ("gpu", "<9", ["Device: cuda:0 NVIDIA GeForce RTX 3090"], "RTX 3090"),
    ],
)
def test_evidence_holds_the_line_that_a_condition_rests_on(
    fact: str, allowed: str, lines: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = catalogue.load()
    signature = catalogue.LogSignature(
        anchors=("NEEDLE",), certainty="certain", when=catalogue.When(**{fact: (allowed,)})
    )
    entry = replace(known.entry("triton-missing"), signatures=(signature,), explains=())
    made = replace(known, entries={entry.id: entry})
    monkeypatch.setattr(catalogue, "load", lambda: made)
    monkeypatch.setattr("tritonwin.problems.checks.of_versions", lambda: ())  # of the real one
    (found,) = explain_lines([*lines, "NEEDLE"]).problems
    assert found.evidence[0].text == "NEEDLE"
    assert said in found.evidence[1].text


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


@pytest.mark.parametrize(
    ("lines", "torch", "triton", "python"),
    [
        (["- Python: 3.12.7", "- PyTorch: 2.7.1+cu128"], "2.7.1+cu128", None, "3.12.7"),
        (
            ["[pip3] torch==2.6.0+cu124", "[pip3] triton-windows==3.2.0"],
            "2.6.0+cu124",
            "3.2.0",
            None,
        ),
        (["Name: triton-windows", "Version: 3.3.1.post19"], None, "3.3.1.post19", None),
        (["Name: numpy", "Version: 2.1.0"], None, None, None),
        (["| torch | 2.6.0+cu126 |", "| triton-windows | 3.2.0 |"], "2.6.0+cu126", "3.2.0", None),
        (["**triton-windows**: 3.4.0.post20"], None, "3.4.0.post20", None),
        (["2.9.1+cu130 13.0"], "2.9.1+cu130", None, None),
        (["torch @ https://x/whl/torch-2.7.1%2Bcu128-cp312-win.whl"], "2.7.1+cu128", None, None),
        ([r'File "C:\x\Python312\Lib\site-packages\a.py", line 3'], None, None, "3.12"),
    ],
)
def test_versions_as_people_and_tools_write_them(
    lines: list[str], torch: str | None, triton: str | None, python: str | None
) -> None:
    facts = explain_lines(lines).facts
    assert (facts.torch and facts.torch.version) == torch
    assert (facts.triton and facts.triton.version) == triton
    assert (facts.target and facts.target.version) == python


@pytest.mark.parametrize(
    ("line", "capability"),
    [
        ("Windows 10, RTX2080Ti", "7.5"),
        ("- GPU: RTX 5090", "12.0"),
        ("needs an RTX 3090 or newer", None),
        ("e.g. RTX 4090", None),
    ],
)
def test_a_card_as_people_write_it(line: str, capability: str | None) -> None:
    gpus = explain_lines([line]).facts.gpus
    assert next((g.compute_capability for g in gpus), None) == capability
