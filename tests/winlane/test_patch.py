"""`patch` is enough: upstream's sources, on real Windows binaries, from `import triton` to a launch.

Real: Windows CPython, the compiled library, ptxas and TinyCC of triton-windows, upstream's sources
of the same version, and tritonwin's own command line in Windows. Stand-ins: nvcuda.dll, which runs
no kernel but reads every argument as the cubin declares it; and torch, of which Triton up to 3.7
asks for the driver. Not here: MSVC, clang and zig; versions 3.0 and 3.9, which have no binaries.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import overlay
import pytest
from faults import usual
from overlay import VERSIONS, Version
from trees import describe_tree
from winlane import Environment, Machine
from winlane.wine import run as linux

from tritonwin.patch.rules import RULES

STAGES = ("import", "cubin:86", "helper", "launch")


def each(*default: str, versions: Iterable[str] = VERSIONS) -> Any:
    """One test a version; all but the default ones are heavy."""
    chosen = {name: VERSIONS[name] for name in versions}
    quick = (VERSIONS[name] for name in default)
    return pytest.mark.parametrize("version", usual(chosen.values(), *quick), ids=chosen)


def patch(machine: Machine, made: Environment, *words: str) -> dict[str, Any]:
    """`tritonwin patch` in Windows; what it says of itself as JSON."""
    done = machine.tool("patch", *words, "--python", made.python, "--json", timeout=240)
    assert done.stderr == ""
    document: dict[str, Any] = json.loads(done.stdout)
    assert "error" not in document, document
    return document


def sources(made: Environment) -> list[str]:
    """Triton's files and those beside it, less what Python compiles."""
    tree = describe_tree(made.site_packages)
    return [line for line in tree if "__pycache__" not in line]


def assert_launched(made: Environment, said: dict[str, Any], sm: int = 86) -> None:
    """Every stage passed, and the driver was handed the arguments that the program gave."""
    assert {stage: each.get("error") for stage, each in said.items()} == dict.fromkeys(said)
    pointers = said["launch"]["ok"]
    (launch,) = overlay.launches(made)
    assert (launch["kernel"], launch["grid"], launch["sm"]) == ("scaled", [5, 2, 1], sm)
    assert launch["params"][:5] == [
        [8, pointers["x"]], [8, pointers["out"]], [4, hex(1000)], [8, hex(2**33 + 7)],
        [4, "0x3f000000"],
    ]  # fmt: skip
    assert all(value == "0x0" for _, value in launch["params"][5:])


def assert_fails_as_known(version: Version, said: dict[str, Any]) -> None:
    """The first error of each stage, as facts/triton-versions.md found them."""
    cubin = r"libtriton\.so" if version.number < (3, 3) else r"WinError 32\b"
    # without torch, 3.8 looks for libcuda.so.1 before it needs any folder
    driver = "/sbin/ldconfig" if version.torch else "0 active drivers"
    assert "ok" in said["import"]
    assert re.search(cubin, said["cubin:86"]["error"])
    for stage in ("helper", "launch"):
        assert driver in said[stage]["trace"]


@each("3.8.0")
def test_enough_on_disk(machine: Machine, version: Version) -> None:
    made = overlay.overlay(machine, version)
    before = sources(made)
    assert_fails_as_known(version, overlay.run(made, *STAGES))

    applied = patch(machine, made, "apply")
    assert {rule["state"] for rule in applied["rules"]}.isdisjoint({"needed", "unknown"})
    assert_launched(made, overlay.run(made, *STAGES))

    patch(machine, made, "revert")
    assert sources(made) == before


@each("3.3.1")  # which loads its backends past the import system
def test_enough_at_import_time(machine: Machine, version: Version) -> None:
    made = overlay.overlay(machine, version)
    before = sources(made)
    patch(machine, made, "apply", "--import-time")
    package = [line for line in sources(made) if " triton/" in line]
    assert package == [line for line in before if " triton/" in line]
    assert_launched(made, overlay.run(made, *STAGES))
    # and again, from what the first run kept
    again = overlay.run(made, *STAGES)
    assert all("ok" in each for each in again.values())
    assert "tritonwin:" not in again["launch"]["printed"]

    patch(machine, made, "revert")
    assert sources(made) == before
    assert not list(made.site_packages.glob("__pycache__/_tritonwin_hook*"))


@pytest.mark.full
def test_the_forks_own_defect_at_import_time(machine: Machine) -> None:
    """triton-windows 3.5 dies at the first launch of a driver that leaves an error behind."""
    made = overlay.fork(machine, VERSIONS["3.5.1"])
    machine.variables["FAKECUDA_LAST_ERROR"] = "2"
    assert "0xc0000005" in overlay.run(made, "launch")["launch"]["error"]
    patch(machine, made, "apply", "--import-time")
    assert_launched(made, overlay.run(made, "helper", "launch"))
    assert "freed" in overlay.run(made, "tensor_map:2147483712")["tensor_map:2147483712"]["ok"]


@pytest.mark.full
def test_an_embedded_python_with_its_site_switched_off(machine: Machine) -> None:
    """Its `._pth` names site-packages and runs no .pth file: no hook starts, files can be edited."""
    version = VERSIONS["3.8.0"]
    made = overlay.overlay(machine, version, kind="bare")
    pth = b"python312.zip\r\n.\r\nLib\\site-packages\r\n"
    made.replace("python312._pth", pth)
    words = ("patch", "apply", "--import-time", "--python", made.python)
    refused = machine.tool(*words, timeout=240)
    assert refused.returncode == 2
    assert "python312._pth keeps this Python from looking for .pth files" in refused.stderr
    assert f"tritonwin patch apply --python {made.python}" in refused.stderr
    patch(machine, made, "apply")
    assert "ok" in overlay.run(made, "cubin:86")["cubin:86"]


@pytest.mark.full
def test_comfyuis_embedded_python_starts_the_hook(machine: Machine) -> None:
    made = overlay.overlay(machine, VERSIONS["3.6.0"], kind="comfyui")
    patch(machine, made, "apply", "--import-time")
    assert "ok" in overlay.run(made, "cubin:86")["cubin:86"]
    # never both at once
    again = machine.tool("patch", "apply", "--python", made.python, timeout=240)
    assert again.returncode == 2
    assert "hook" in again.stderr


BLACKWELL = tuple(name for name, version in VERSIONS.items() if version.number >= (3, 3))
SPLIT = {"3.3.0", "3.3.1", "3.6.0", "3.7.0", "3.7.1", "3.8.0"}


@each(versions=BLACKWELL)
def test_enough_for_an_rtx_5090(machine: Machine, version: Version) -> None:
    """Upstream wants a ptxas-blackwell there that no Windows wheel has."""
    stages = ("cubin:120", "launch")
    made = overlay.overlay(machine, version, cc="12.0")
    overlay.edit(made, [rule for rule in RULES if rule.id != "ptxas-blackwell"])
    without = overlay.run(made, "cubin:120")["cubin:120"].get("error", "")
    assert ("Cannot find ptxas-blackwell.exe" in without) == (version.upstream in SPLIT)
    overlay.edit(made, RULES)
    assert_launched(made, overlay.run(made, *stages), sm=120)


@each(versions=("3.6.0", "3.8.0"))
def test_a_helper_module_of_another_compiler(
    machine: Machine, tmp_path: Path, version: Version
) -> None:
    """MinGW on Linux compiles the patched driver.c, Windows loads it and launches through it."""
    made = overlay.overlay(machine, version)
    patch(machine, made, "apply")
    nvidia = made.site_packages / "triton/backends/nvidia"
    built = tmp_path / "cuda_utils.cp312-win_amd64.pyd"
    linux(
        machine.lane.wine.mingw("gcc-win32"), "-O2", "-shared", "-Wall", "-Werror=implicit",
        "-o", built, "-I", made.home / "Include", "-I", nvidia / "include", nvidia / "driver.c",
        nvidia / "lib/x64/cuda.lib", made.home / "libs/python312.lib",
    )  # fmt: skip
    there = machine.place(r"C:\own\cuda_utils.cp312-win_amd64.pyd", built)
    env = {"OWN_HELPER": machine.drives.windows(there)}
    said = overlay.run(made, "own_helper", "helper", "launch", **env)
    assert said["own_helper"]["ok"] == "in place"
    assert_launched(made, said)
    (cached,) = machine.drives.linux(rf"{machine.lane.profile}\.triton\cache").glob("*/cuda_utils*")
    assert cached.read_bytes() == built.read_bytes()


@pytest.mark.full
def test_fix_patches_what_doctor_finds_unpatched(machine: Machine) -> None:
    """Upstream's files copied over triton-windows: found, patched, proven, and reverted."""
    version = overlay.VERSIONS["3.6.0"]
    made = overlay.fork(machine, version)
    upstream = overlay.upstream_site(machine.lane, version.upstream) / "triton"
    for path in upstream.rglob("*.*"):
        if path.is_file():
            there = made.site_packages / "triton" / path.relative_to(upstream)
            made.replace(there, path.read_bytes())
    before = sources(made)
    done = machine.tool("fix", "--offline", "--yes", "--json", "--python", made.python, timeout=600)
    report = json.loads(done.stdout)
    changes = [change["action"] for plan in report["plans"] for change in plan["changes"]]
    assert "patch" in changes, report
    assert report["status"] == "proven", report
    for journal in reversed(report["journals"]):
        machine.tool("undo", journal, "--yes", timeout=300).check()
    assert sources(made) == before
