"""Triton from source: pins read from checkouts of each age, folders for offline, links, jobs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from machines import linux, msvc, torch, windows

from tritonwin.build import order
from tritonwin.build.order import BuildMachine, Order, read_checkout
from tritonwin.build.plan import BuildPlan
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load
from tritonwin.system.host import Environment

SHA = "04089e40" + "0" * 56
COMMIT = "46111560" + "a" * 32


def source(folder: Path, version: str = "3.8.0", *, old: bool = False, below: str = "") -> Path:
    """A checkout as far as the planner reads it."""
    (folder / "cmake").mkdir(parents=True)
    (folder / below).mkdir(exist_ok=True)
    (folder / below / "setup.py").write_text(f'TRITON_VERSION = "{version}" + suffix()\n')
    (folder / "cmake" / "json-version.txt").write_text("v3.11.3")
    if old:
        (folder / "cmake" / "llvm-hash.txt").write_text(f"{COMMIT}\n")
    else:
        project = '[build-system]\nrequires = ["nanobind==2.10.2"]\n'
        (folder / "pyproject.toml").write_text(project)
        info = {"llvm_hash": COMMIT, "sha256sum": {"windows-x64": SHA}}
        (folder / "cmake" / "llvm-info.json").write_text(json.dumps(info))
    return folder


def planned(order: Order, machine: BuildMachine, folder: Path | None = None) -> BuildPlan:
    found = read_checkout(folder, load("triton"), windows=machine.host.windows) if folder else None
    order = replace(order, source=str(folder)) if folder else order
    return plan(order, replace(machine, checkout=found))


def said(made: BuildPlan) -> str:
    return " | ".join(f"{d.name}: {d.value}, {d.reason}" for d in made.decisions)


def refused(made: BuildPlan) -> str:
    return " | ".join(f"{r.problem} {r.message} {r.help}" for r in made.refusals)


def test_the_pins_of_a_checkout(tmp_path: Path) -> None:
    made = planned(Order(recipe="triton"), windows(tmp_path), source(tmp_path / "t"))
    assert made.possible, refused(made)
    assert made.version == "3.8.0"
    assert "JSON: v3.11.3" in said(made)
    assert not any("names no hash" in text for text in made.warnings)
    assert made.cuda is None
    assert made.archs == ()
    assert "nanobind==2.10.2" in made.requirements


def test_an_older_checkout_says_no_hash(tmp_path: Path) -> None:
    folder = source(tmp_path / "t", "3.3.1", old=True, below="python")
    made = planned(Order(recipe="triton"), allowed(windows(tmp_path)), folder)
    assert made.possible, refused(made)
    assert made.source.subfolder == "python"
    assert "LLVM: prebuilt 46111560" in said(made)
    assert any("names no hash" in text for text in made.warnings)
    assert "cmake>=3.18,<4.0" in made.requirements


def allowed(machine: BuildMachine) -> BuildMachine:
    system = replace(machine.facts.system, developer_mode=True)
    return replace(machine, facts=replace(machine.facts, system=system))


@pytest.mark.parametrize(("version", "refusal"), [("3.6.0", True), ("3.8.0", False)])
def test_symbolic_links_up_to_3_6(tmp_path: Path, version: str, refusal: bool) -> None:
    folder = source(tmp_path / "t", version)
    made = planned(Order(recipe="triton"), windows(tmp_path), folder)
    assert ("symlinks-not-allowed" in refused(made)) == refusal
    assert planned(Order(recipe="triton"), allowed(windows(tmp_path)), folder).possible


def test_offline_wants_folders(tmp_path: Path) -> None:
    folder = source(tmp_path / "t")
    lacking = planned(Order(recipe="triton", offline=True), windows(tmp_path), folder)
    assert "LLVM_SYSPATH, JSON_SYSPATH" in refused(lacking)
    folders = {name: str(tmp_path / name) for name in ("LLVM_SYSPATH", "JSON_SYSPATH")}
    there = windows(tmp_path)
    env = Environment({**there.host.env.data, **folders}, windows=True)
    there = replace(there, host=replace(there.host, env=env))
    made = planned(Order(recipe="triton", offline=True), there, folder)
    assert made.possible, refused(made)
    assert made.environment["TRITON_OFFLINE_BUILD"] == "1"
    assert folders.items() <= made.environment.items()
    # no CMakeCache.txt of the other way is ever seen
    online = planned(Order(recipe="triton"), windows(tmp_path), folder)
    assert online.root != made.root
    assert "build" in made.source.skip


def test_jobs_that_triton_honours(tmp_path: Path) -> None:
    folder = source(tmp_path / "t")
    on_windows = planned(Order(recipe="triton"), windows(tmp_path), folder)
    jobs = str(on_windows.jobs)
    assert on_windows.environment["CMAKE_BUILD_PARALLEL_LEVEL"] == jobs
    assert "MAX_JOBS" not in on_windows.environment
    assert on_windows.environment["TRITON_PARALLEL_LINK_JOBS"] == "1"
    fewer = on_windows.with_jobs(1).environment
    assert fewer["CMAKE_BUILD_PARALLEL_LEVEL"] == "1"
    on_linux = planned(Order(recipe="triton"), linux(tmp_path), folder)
    assert on_linux.environment["MAX_JOBS"] == str(on_linux.jobs)


def test_the_prebuilt_llvm_wants_v143(tmp_path: Path) -> None:
    folder = source(tmp_path / "t")
    new = windows(tmp_path, msvc=(msvc("14.51.36014"),))
    assert "the recipe wants >=14.30,<14.50" in refused(
        planned(Order(recipe="triton"), new, folder)
    )
    both = windows(tmp_path, msvc=(msvc("14.51.36014"), msvc("14.44.35207")))
    made = planned(Order(recipe="triton"), both, folder)
    assert made.toolset.version == "14.44.35207"


def test_the_release_is_the_one_that_torch_wants(tmp_path: Path) -> None:
    (tmp_path / "git.exe").touch()
    machine = allowed(windows(tmp_path, torch=torch("2.10.0+cu128", "12.8")))
    env = replace(machine.host.env, data={"PATH": str(tmp_path)})
    machine = replace(machine, host=replace(machine.host, env=env))
    made = planned(Order(recipe="triton"), machine)
    assert made.possible, refused(made)
    assert made.source.ref == "v3.6.0-windows.post26"
    assert "wants Triton 3.6" in said(made)
    main = planned(Order(recipe="triton", version="main"), machine)
    assert main.source.ref == "main-windows"
    without_git = replace(machine, host=windows(tmp_path).host)
    assert "git is needed" in refused(planned(Order(recipe="triton"), without_git))


@pytest.mark.parametrize("damage", ["{", "[]", '{"llvm_hash": 3, "sha256sum": []}', ""])
def test_a_damaged_pin_is_no_pin(tmp_path: Path, damage: str) -> None:
    folder = source(tmp_path / "t")
    (folder / "cmake" / "llvm-info.json").write_text(damage)
    made = planned(Order(recipe="triton"), windows(tmp_path), folder)
    assert "LLVM" not in said(made)


def test_a_folder_without_a_project_is_none(tmp_path: Path) -> None:
    assert order.read_checkout(tmp_path, load("triton"), windows=True) is None


@pytest.mark.parametrize(
    ("file", "text", "version"),
    [
        ("setup.py", "setup(name='x', version='1.2')", None),
        ("setup.py", "setup(\n    version='1.2',\n)", "1.2"),
        ("pyproject.toml", '[project]\nversion = "3.4"\n', "3.4"),
        ("PKG-INFO", "Name: x\nVersion: 5.6\n", "5.6"),
    ],
)
def test_the_version_of_any_project(
    tmp_path: Path, file: str, text: str, version: str | None
) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / file).write_text(text)
    found = order.read_checkout(tmp_path, load("cuda-extension"), windows=True)
    assert found.version == version
