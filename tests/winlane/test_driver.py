"""Triton launches in an embedded Windows Python that has no compiler, no headers and no library.

Real: Windows CPython, the compiled library and ptxas of triton-windows, upstream's sources or the
fork's, and tritonwin's own command line in Windows. Stand-ins: nvcuda.dll, which runs no kernel but
writes down every argument, and torch. TinyCC is deleted; CC and Visual Studio were never there.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import overlay
import pytest
import test_patch
from driver_outcomes import compiled_outcomes
from faults import FAULTS, seeded, usual
from overlay import VERSIONS, Version
from trees import describe_tree
from winlane import Environment, Machine

import tritonwin
from tritonwin.patch.engine import RuleChoice
from tritonwin.patch.hook.install import generate
from tritonwin.patch.rules import RULES

CALLS = Path(__file__).resolve().parents[1] / "driver"
HEADERS = "embedded-python-no-headers"
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PAIRS = [(python, version) for python in PYTHONS for version in VERSIONS]
NO_WHEEL = ("3.13", "3.1.0")


def driver(machine: Machine, made: Environment, word: str) -> dict[str, Any]:
    done = machine.tool("driver", word, "--python", made.python, "--json", timeout=240)
    assert done.stderr == ""
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def without_compiler(made: Environment) -> None:
    """Take TinyCC away; an embedded Python has neither headers nor an import library."""
    shutil.rmtree(made.site_packages / "triton" / "runtime" / "tcc")
    assert not (made.home / "include").exists()
    assert not (made.home / "libs").exists()


def files(made: Environment) -> list[str]:
    return [line for line in describe_tree(made.site_packages) if "__pycache__" not in line]


@test_patch.each("3.6.0")
def test_the_fork_launches(machine: Machine, version: Version) -> None:
    made = overlay.fork(machine, version, kind="comfyui")
    without_compiler(made)
    before = files(made)
    assert "compiler" in overlay.run(made, "helper")["helper"]["error"].lower()

    assert driver(machine, made, "on")["status"] == "switched-on"
    test_patch.assert_launched(made, overlay.run(made, *test_patch.STAGES))
    assert driver(machine, made, "status")["notes"] == []

    assert driver(machine, made, "off")["status"] == "switched-off"
    assert files(made) == before
    assert not list(made.site_packages.glob("__pycache__/_tritonwin_hook*"))


@test_patch.each("3.8.0")
def test_upstreams_sources_patched_on_disk_launch_in_either_order(
    machine: Machine, version: Version
) -> None:
    made = overlay.overlay(machine, version, kind="comfyui")
    without_compiler(made)
    before = files(made)
    steps: dict[str, Any] = {
        "patch": lambda on: test_patch.patch(machine, made, "apply" if on else "revert"),
        "driver": lambda on: driver(machine, made, "on" if on else "off"),
    }
    for order in (("patch", "driver"), ("driver", "patch")):
        for name in order:
            steps[name](True)
        assert driver(machine, made, "status")["status"] == "on"
        test_patch.assert_launched(made, overlay.run(made, *test_patch.STAGES))
        made.path(overlay.LOG).unlink()
        for name in order:
            steps[name](False)
        assert files(made) == before, order


@pytest.mark.parametrize(
    ("python", "version"), usual([each for each in PAIRS if each != NO_WHEEL], ("3.10", "3.4.0"))
)
def test_every_python_launches_both_sources_of_every_release(
    machine: Machine, python: str, version: str
) -> None:
    """The fork's sources, then upstream's with the rules in the same hook, laid where they belong."""
    made = overlay.fork(machine, VERSIONS[version], kind="comfyui", python=python)
    without_compiler(made)
    for choice in (None, RuleChoice()):
        if choice:
            overlay.lay_over(machine, made, VERSIONS[version])
            made.path(overlay.LOG).unlink()
        for name, content in generate(choice, driver=True).items():
            made.replace(made.site_packages / name, content)
        test_patch.assert_launched(made, overlay.run(made, *test_patch.STAGES))


@pytest.mark.parametrize("kind", ["comfyui", pytest.param("bare", marks=pytest.mark.full)])
def test_fix_offline_without_headers_anywhere(machine: Machine, kind: str) -> None:
    """One command, nothing fetched; undo leaves every file as it was."""
    fault = next(f for f in FAULTS if f.problem == HEADERS and f.kind == kind)
    seed = seeded(machine, fault)
    before = describe_tree(seed.env.root)
    options = ("--offline", "--yes", "--json", "--python", seed.env.python)
    done = machine.tool("fix", *options, timeout=600)
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["status"] == "proven", report
    changes = [change for plan in report["plans"] for change in plan["changes"]]
    assert [c["action"] for c in changes if c["action"] != "enable-site"] == ["python-driver"]
    assert [c["sources"] for c in changes] == [[]] * len(changes)
    states = {rung["id"]: rung["state"] for rung in report["proof"]}
    assert states.pop("headers-and-library") == "not-applicable"
    assert set(states.values()) == {"passed"}
    for journal in reversed(report["journals"]):
        assert machine.tool("undo", journal, "--yes", timeout=300).returncode == 0
    assert describe_tree(seed.env.root) == before


def calls(
    machine: Machine, made: Environment, version: str, backend: str, library: str
) -> list[Any]:
    """Outcomes of tests/driver's program for a backend, in an embedded Python."""
    package = made.root / "triton"
    source = overlay.upstream_site(machine.lane, version) / "triton"
    for part in (
        "backends/driver.py",
        f"backends/{backend}/driver.py",
        f"backends/{backend}/driver.c",
        "tools/tensor_descriptor.py",
        "_utils.py",
    ):
        if (source / part).exists():
            (package / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / part, package / part)
    own = Path(tritonwin.__file__).parent
    for part in ("__init__.py", "driver/__init__.py", "driver/payload"):
        target = made.site_packages / "tritonwin" / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (own / part).is_dir():
            shutil.copytree(own / part, target)
        else:
            shutil.copyfile(own / part, target)
    program = shutil.copytree(CALLS, made.root / "calls") / "calls.py"
    done = made.run(
        made.win(program), backend, made.win(package), "python", made.win(made.root / "c"),
        library, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout)
    return found


@test_patch.each("3.6.0")
def test_calls_of_amds_runtime_are_those_compiled_on_linux(
    machine: Machine, version: Version, tmp_path: Path
) -> None:
    """With a stand-in amdhip64.dll, under the name that upstream's sources look for."""
    made = machine.environment(f"3.{sys.version_info[1]}", "comfyui")
    library = made.root / "libamdhip64.so"
    shutil.copyfile(machine.fakes.amdhip64(), library)
    machine.variables["FAKEHIP_LOG"] = overlay.LOG
    windows = calls(machine, made, version.upstream, "amd", made.win(library))
    linux = compiled_outcomes(version.upstream, tmp_path, "amd")
    # a C long has 32 bits in Windows, so that Python's text is another one there
    wrong = [w[0] for w, x in zip(windows, linux, strict=True) if w != x]
    assert set(wrong) <= {f"wrong i32 {2**31} {n}" for n in range(3)}


CARDS = ("gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201")


def test_kernels_for_amds_cards_are_compiled_and_launched(machine: Machine) -> None:
    """Real: the compiler and its code objects. Stand-in: amdhip64.dll, which runs no kernel."""
    made = overlay.fork(machine, VERSIONS["3.8.0"], kind="comfyui")
    without_compiler(made)
    for name, content in generate(None, driver=True).items():
        made.replace(made.site_packages / name, content)
    library = made.root / "amdhip64_6.dll"
    shutil.copyfile(machine.fakes.amdhip64(), library)
    machine.variables.update(FAKEHIP_LOG=overlay.LOG, TRITON_LIBHIP_PATH=made.win(library))
    said = overlay.run(made, *(f"hip_launch:{card}" for card in CARDS))
    launches = overlay.launches(made)
    for card, launch in zip(CARDS, launches, strict=True):
        arrived(said[f"hip_launch:{card}"]["ok"], launch, scratch=2)


def arrived(found: dict[str, Any], launch: dict[str, Any], scratch: int) -> None:
    """A launch on AMD's stand-in has every argument, and that many pointers of Triton's own."""
    assert (found["elf"], found["named"]) == (True, True)
    assert (launch["kernel"], launch["grid"], launch["block"]) == (
        "scaled", [5, 2, 1], [128, 1, 1],
    )  # fmt: skip
    values = [found["x"], found["out"], 1000, 2**33 + 7, 0x3F000000, 0, 0]
    given = [*zip(values, (8, 8, 4, 8, 4, 8, 8), strict=True)][: 5 + scratch]
    passed = launch["params"][: 5 + scratch]
    assert passed == [value.to_bytes(size, "little").hex() for value, size in given]


@pytest.mark.parametrize("version", usual(VERSIONS, "3.8.0"))
def test_the_patched_driver_for_amd_is_compiled_and_launches(
    machine: Machine, version: str
) -> None:
    """Upstream's sources with the rules of `patch`, on the fork's compiled part.

    Up to 3.4 a code object needs ROCm's linker, which cannot be had; upstream's 3.5.0 asks the fork's
    library for a pass that it lacks.
    """
    made = overlay.overlay(machine, VERSIONS[version])
    machine.place(r"C:\windows\system32\amdhip64_7.dll", machine.fakes.amdhip64())
    machine.variables["FAKEHIP_LOG"] = overlay.LOG
    overlay.edit(made, RULES)
    number = VERSIONS[version].number
    stages = ["hip_helper"]
    stages += ["hip_launcher"] if number < (3, 7) else []
    stages += ["hip_launch:gfx1100"] if number > (3, 5, 0) else []
    said = overlay.run(made, *stages)
    assert {stage: s.get("error") for stage, s in said.items() if "ok" not in s} == {}
    launches = overlay.launches(made)
    assert len(launches) == ("hip_launch:gfx1100" in stages)
    for launch in launches:
        arrived(said["hip_launch:gfx1100"]["ok"], launch, scratch=0)


@pytest.mark.parametrize(("python", "version"), usual(PAIRS, ("3.13", "3.7.1")))
def test_every_call_is_that_of_the_module_compiled_on_linux(
    machine: Machine, python: str, version: str, tmp_path: Path
) -> None:
    machine.gpu(cc="8.9")
    machine.variables["FAKECUDA_LOG"] = overlay.LOG
    made = machine.environment(python, "comfyui")
    windows = calls(machine, made, version, "nvidia", "-")
    linux = compiled_outcomes(version, tmp_path)
    assert [name for name, *_ in windows] == [name for name, *_ in linux]
    # texts of errors are Python's own and differ from minor to minor
    same = slice(0, 3) if python == f"3.{sys.version_info[1]}" else slice(2, 3)
    wrong = [(w, x) for w, x in zip(windows, linux, strict=True) if w[same] != x[same]]
    # a C long has 32 bits in Windows, where 3.7 and later refuse what Linux cuts off; and where up to
    # 3.2 reads an int64 as a long, a long long is read, of which Python says the same in other words
    known = (f"wrong {what} {n}" for what in ("i32 2147483648", f"i64 {2**63}") for n in range(2))
    assert {w[0] for w, _ in wrong} <= set(known)
    texts = [(w, x) for w, x in wrong if w[0].startswith("wrong i64")]
    assert all(each[1].startswith("OverflowError: ") for pair in texts for each in pair), texts
