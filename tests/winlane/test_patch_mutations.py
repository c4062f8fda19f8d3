"""Each rule of `patch` is there for a reason: leave it out, and what it removes comes back.

All other rules are applied, so that the error is that of this one rule and of none before it; with
the rule as well, the same stage must pass. The fork's own defects are shown on the fork.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import overlay
import pytest
from faults import rows
from winlane import Environment, Lane, Machine
from winlane.wine import run as linux

from tritonwin.patch.rules import RULES

HIP_FUNCTIONS = re.compile(r"\bhip[A-Z]\w+")


@dataclass(frozen=True)
class Seen:
    """A defect that a run in Windows meets in `stage`; those before it pass.

    `error` stands in what is said, or `wrong` in the result of a stage that does not fail.
    """

    rule: str
    version: str
    stage: str
    error: str = ""
    wrong: str = ""
    before: Sequence[str] = ()
    fork: bool = False
    more: Sequence[str] = ("setuptools",)
    env: Mapping[str, str] = field(default_factory=dict)
    prepare: str = ""


def other_ptxas(machine: Machine, made: Environment) -> None:
    ours = made.site_packages / "triton/backends/nvidia/bin/ptxas.exe"
    machine.place(r"C:\tools\ptxas.exe", ours)


def hip_runtime(machine: Machine, made: Environment) -> None:
    """A DLL of AMD's driver with every function that Triton asks for by name."""
    source = made.site_packages / "triton/backends/amd"
    text = "".join((source / name).read_text("utf-8") for name in ("driver.c", "driver.py"))
    names = sorted(set(HIP_FUNCTIONS.findall(text)))
    dll = machine.fakes.build_dll("amdhip64_7.dll", names)
    machine.place(r"C:\windows\system32\amdhip64_7.dll", dll)


def linker(machine: Machine, made: Environment) -> None:
    """A stand-in for ROCm's linker: none is to be had here."""
    machine.place(r"C:\rocm\bin\ld.lld.exe", machine.fakes.tool())


@dataclass(frozen=True)
class Compiled:
    """A construct that MSVC refuses: gcc names it when it is asked to be as strict."""

    rule: str
    version: str
    message: str
    stage: str = ""  # makes the text, where it is not driver.c


_TABLE = rows("mutations.toml")
SEEN = tuple(Seen(**row) for row in _TABLE["seen"])
COMPILED = tuple(Compiled(**row) for row in _TABLE["compiled"])


def test_every_rule_has_its_mutation() -> None:
    tested = [case.rule for case in (*SEEN, *COMPILED)]
    assert sorted(tested) == sorted(rule.id for rule in RULES)


def _triton(machine: Machine, case: Seen) -> Environment:
    make = overlay.fork if case.fork else overlay.overlay
    version = overlay.VERSIONS[case.version]
    made = make(machine, version, "12.0" if case.stage == "cubin:120" else "8.6", case.more)
    if case.prepare:
        globals()[case.prepare](machine, made)
    return made


def _failure(made: Environment, case: Seen) -> str:
    """The error or result of the stage; empty where it is as it should be."""
    said = overlay.run(made, *case.before, case.stage, **case.env)
    for stage in case.before:
        assert "ok" in said[stage], said[stage]
    last = said[case.stage]
    text = last.get("error", "") + last.get("trace", "") + last["printed"]
    if case.wrong:
        assert "ok" in last, text
        return text if re.search(case.wrong, str(last["ok"])) else ""
    if "ok" in last and case.error not in last["printed"]:
        return "wrong" if case.stage == "launch" and not _arrived(made) else ""
    assert re.search(case.error, text), text
    return text


def _arrived(made: Environment) -> bool:
    return overlay.launches(made)[-1]["params"][3][1] == hex(2**33 + 7)


@pytest.mark.full
@pytest.mark.parametrize("case", SEEN, ids=lambda case: case.rule)
def test_without_the_rule_the_defect_is_back(machine: Machine, case: Seen) -> None:
    made = _triton(machine, case)
    overlay.edit(made, [rule for rule in RULES if rule.id != case.rule])
    assert _failure(made, case)
    assert overlay.edit(made, RULES) == (case.rule,)
    assert not _failure(made, case)


def _messages(lane: Lane, made: Environment, case: Compiled, folder: Path) -> str:
    backend = "amd" if "amd" in case.rule else "nvidia"
    package = made.site_packages / "triton/backends" / backend
    source = package / "driver.c"
    if case.stage:
        said = overlay.run(made, case.stage)[case.stage]
        source = folder / "launcher.c"
        source.write_text(said["ok"])
    done = linux(
        lane.wine.mingw("gcc-win32"), "-std=c11", "-pedantic", "-Wshift-overflow=2",
        "-fsyntax-only", "-I", made.home / "Include", "-I", package / "include", source, check=False,
    )  # fmt: skip
    text: str = done.stdout
    assert "fatal error" not in text, text
    return text


@pytest.mark.full
@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.rule)
def test_without_the_rule_a_strict_compiler_complains(
    lane: Lane, machine: Machine, tmp_path: Path, case: Compiled
) -> None:
    made = overlay.overlay(machine, overlay.VERSIONS[case.version])
    if "amd" in case.rule:
        hip_runtime(machine, made)
    overlay.edit(made, [rule for rule in RULES if rule.id != case.rule])
    assert re.search(case.message, _messages(lane, made, case, tmp_path))
    assert overlay.edit(made, RULES) == (case.rule,)
    assert not re.search(case.message, _messages(lane, made, case, tmp_path))
