"""AMD's cards in real Windows Pythons: doctor, fix, undo and verify.

Real: Windows CPython, triton-windows and its compiler for AMD, tritonwin's command line in Windows.
Stand-ins: AMD's driver (amdhip64_7.dll and _6, which run no kernel), torch and ROCm's wheels, which
cannot be had here, and Visual Studio.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import Seed
from repairs import USER, Repair, state
from test_doctor import doctor
from test_verify import only, verify
from winlane import Environment, Lane, Machine, standins
from winlane.resources import WHEELS

from tritonwin.facts.amd import chip

CARD = "gfx1100,AMD Radeon RX 7900 XTX,24,0"
BUILT_IN = "gfx1036,AMD Radeon(TM) Graphics,2,1"
HEALTHY = ("gfx1100", "gfx1030", "gfx1103", "gfx1151", "gfx1201")
CHIPS = ("gfx1030", "gfx1036", "gfx1100", "gfx1101", "gfx1103", "gfx1150", "gfx1151", "gfx1200",
         "gfx1201")  # fmt: skip


def healthy(machine: Machine, architecture: str, triton: str = "triton-3.7") -> Seed:
    """A card of that chip, AMD's torch for it, and all that its clang needs."""
    known = chip(architecture)
    assert known
    device = f"{architecture},AMD {known.cards},16,{int(known.integrated)}"
    machine.radeon(device, pci=known.devices[0].upper())
    env = machine.environment("3.12", "full", [WHEELS[triton]])
    version = {"triton-3.6": "2.11.0"}.get(triton, "2.12.0")
    standins.rocm_torch(env, machine.fakes, architecture, version)
    machine.visual_studio()
    machine.windows_sdk()
    return Seed(machine, env)


@dataclass(frozen=True)
class Fault:
    """`problem` is what doctor names first, and `names` stands in its evidence.

    `driver`: Triton's driver runs in Python before, as its compiler is a stand-in here.
    """

    problem: str
    names: str
    seed: Callable[[Seed], object]
    architecture: str = "gfx1100"
    triton: str = "triton-3.7"
    fixed: bool = False
    driver: bool = True
    severity: str = "error"

    def prepare(self, machine: Machine) -> Seed:
        seed = healthy(machine, self.architecture, self.triton)
        if self.fixed and self.driver:
            machine.tool("driver", "on", "--python", seed.env.python, timeout=240).check()
        return seed


def _without(seed: Seed, name: str) -> None:
    for info in seed.env.site_packages.glob(f"{name}-*.dist-info"):
        shutil.rmtree(info)


def _cuda(seed: Seed) -> None:
    _without(seed, "torch")
    standins.cuda_torch(seed.env, seed.machine.fakes, "2.12.0", "12.8")


def _processor(seed: Seed) -> None:
    _without(seed, "torch")
    version = "__version__ = '2.12.0'\ncuda = None\nhip = None\nxpu = None\n"
    seed.dist("torch", "2.12.0", files={"torch/version.py": version})


def _vision(seed: Seed) -> None:
    _without(seed, "torchvision")
    seed.dist("torchvision", "0.27.0")


def _other_chip(seed: Seed) -> None:
    _without(seed, "amd_torch_device_gfx1100")
    seed.dist("amd-torch-device-gfx1201", "2.12.0+rocm7.13.0")


def _without_clang(seed: Seed) -> None:
    shutil.rmtree(seed.env.site_packages / "_rocm_sdk_core" / "lib")


def _other_rocm(seed: Seed) -> None:
    for name in ("rocm", "rocm_sdk_core"):
        _without(seed, name)
    seed.dist("rocm", "7.2.1")


def _no_studio(seed: Seed) -> None:
    for path in (r"C:\Program Files (x86)\Microsoft Visual Studio",
                 r"C:\Program Files\Microsoft Visual Studio",
                 r"C:\Program Files (x86)\Windows Kits"):  # fmt: skip
        shutil.rmtree(seed.machine.drives.linux(path), ignore_errors=True)


def _newest_studio(seed: Seed) -> None:
    _no_studio(seed)
    seed.machine.visual_studio("2026", toolset="14.50.35717")
    seed.machine.windows_sdk()


def both(seed: Seed) -> None:
    seed.machine.radeon(BUILT_IN, CARD)


FAULTS = (
    Fault("amd-wrong-torch", "2.12.0+cu128", _cuda, fixed=True),
    Fault("amd-wrong-torch", "processor alone", _processor, fixed=True),
    Fault("amd-wrong-torch", "torchvision 0.27.0", _vision, fixed=True),
    Fault("amd-gpu-unsupported", "gfx1201 alone", _other_chip),
    Fault(
        "amd-gpu-unsupported", "gfx803", lambda s: s.machine.radeon("gfx803,AMD Radeon RX 580,8,0")
    ),
    Fault("amd-integrated-first", "gfx1036", both, fixed=True),
    Fault("amd-driver-too-old", "was not found", lambda s: s.machine.radeon(CARD, library="")),
    Fault(
        "amd-driver-too-old",
        "HIP 6.4",
        lambda s: s.machine.radeon(CARD, hip="6.4", library="amdhip64_6.dll"),
        severity="warning",
    ),
    Fault(
        "amd-helper-compiler", "Visual C++ and a Windows SDK", _no_studio, fixed=True, driver=False
    ),
    Fault("amd-helper-compiler", "with TinyCC", _without_clang, fixed=True, driver=False),
    Fault(
        "amd-helper-compiler",
        "3.6.0",
        lambda s: None,
        triton="triton-3.6",
        fixed=True,
        driver=False,
    ),
    Fault("amd-helper-compiler", "14.50", _newest_studio, severity="warning"),
    Fault(
        "amd-rocm-paths",
        "amdhip64",
        lambda s: (s.env.site_packages / "_rocm_sdk_core" / "bin" / "amdhip64_7.dll").unlink(),
        severity="warning",
    ),
    Fault("amd-rocm-paths", "ROCm 7.2.1", _other_rocm, severity="warning"),
    Fault(
        "amd-override-wrong",
        "gfx1030",
        lambda s: s.set(TRITON_OVERRIDE_ARCH="gfx1030"),
        fixed=True,
    ),
    Fault(
        "amd-override-wrong",
        "10.3.0",
        lambda s: s.set(HSA_OVERRIDE_GFX_VERSION="10.3.0"),
        fixed=True,
        severity="warning",
    ),
)
FIXED = tuple(fault for fault in FAULTS if fault.fixed)
USUAL = ("amd-wrong-torch: 2.12.0+cu128", "amd-helper-compiler: with TinyCC")


def each(faults: tuple[Fault, ...], *usual: str) -> pytest.MarkDecorator:
    """Every fault; those that are not named belong to the full run."""
    params = []
    for fault in faults:
        name = f"{fault.problem}: {fault.names}"
        marks = () if name in usual else (pytest.mark.full,)
        params.append(pytest.param(fault, id=name, marks=marks))
    return pytest.mark.parametrize("fault", params)


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(c, marks=() if c == "gfx1100" else pytest.mark.full) for c in HEALTHY],
)
def test_a_healthy_machine_is_left_alone(machine: Machine, architecture: str) -> None:
    document = doctor(healthy(machine, architecture))
    assert [p["id"] for p in document["problems"] if p["severity"] != "info"] == []
    assert [c for c in document["checks"] if c["state"] == "crashed"] == []


@each(FAULTS, "amd-gpu-unsupported: gfx1201 alone", "amd-integrated-first: gfx1036")
def test_names_the_fault_first(machine: Machine, fault: Fault) -> None:
    seed = healthy(machine, fault.architecture, fault.triton)
    fault.seed(seed)
    document = doctor(seed)
    first, *others = document["problems"]
    assert (first["id"], first["severity"]) == (fault.problem, fault.severity)
    assert fault.names in json.dumps(first["evidence"])
    assert [p["id"] for p in others if p["severity"] == "error"] == []
    assert [c for c in document["checks"] if c["state"] == "crashed"] == []


@each(FIXED, USUAL[1])
def test_repairs_proves_and_undoes(
    lane: Lane, machine: Machine, tmp_path: Path, fault: Fault, desktop: None
) -> None:
    folder = tmp_path
    machine.registry.protect(USER)
    seed = fault.prepare(machine)
    before = dict(machine.variables)
    fault.seed(seed)
    for name, value in machine.variables.items():
        if before.get(name) != value and not name.startswith("FAKE"):
            machine.registry.set(USER, name, value)  # what a console has comes from the registry
    standins.rocm_torch_wheels(folder, "3.12", "gfx1100")
    wheels = (lane.wheels("3.12", ("triton-3.7", "pip")), lane.drives.windows(folder))
    repair = Repair(seed, wheels, state(machine, seed.env))
    report = repair.fix("--yes")
    states = {rung["id"]: rung["state"] for rung in report["proof"]}
    left = [plan["unsolved"] for plan in report["plans"]]
    assert report["status"] == "proven", (left, report["problems"], report["proof"])
    assert {states[name] for name in ("import-triton", "compile-hsaco", "amd-helper")} == {"passed"}
    planned = {p for plan in report["plans"] for c in plan["changes"] for p in c["problems"]}
    assert fault.problem in planned
    # what the stand-in of clang-cl wrote down of its starts
    for log in (seed.env.site_packages / "_rocm_sdk_core").rglob("*.log"):
        log.unlink()
    repair.give_back(report["journals"])


@pytest.fixture
def desktop(machine: Machine) -> Iterator[None]:
    """A desktop that stays: when one begins, Wine puts its own adapter in place of all others.

    A change of a variable is announced to all windows, which begins one.
    """
    display = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
    machine.registry.protect(display)
    machine.registry.delete(display + r"\0000")
    begin = "import ctypes, time; ctypes.windll.user32.GetDesktopWindow(); time.sleep(900)"
    words = [machine.lane.tool.python, "-c", begin]
    with machine.begin(subprocess.list2cmdline(words)):
        limit = time.monotonic() + 60
        while not machine.registry.read(display + r"\0000") and time.monotonic() < limit:
            time.sleep(0.5)
        yield


def launched(env: Environment, log: str) -> list[str]:
    lines = [json.loads(line) for line in env.path(log).read_text().splitlines()]
    assert not [line for line in lines if line["event"] == "wrong"]
    return [line["kernel"] for line in lines if line["event"] == "launch"]


@pytest.mark.parametrize(
    "library", ["amdhip64_7.dll", pytest.param("amdhip64_6.dll", marks=pytest.mark.full)]
)
def test_the_ladder_on_a_card(machine: Machine, library: str) -> None:
    """No torch of NVIDIA's, no compiler: the driver runs in Python. No number is claimed."""
    seed = healthy(machine, "gfx1100")
    machine.radeon(CARD, library=library)
    machine.variables["FAKEHIP_LOG"] = r"C:\hip.log"
    machine.tool("driver", "on", "--python", seed.env.python, timeout=240).check()
    rungs = verify(
        machine,
        seed.env,
        *only("import-triton", "compile-hsaco", "amd-helper", "amd-launch", "vector-add"),
    )
    untried = rungs.pop("vector-add")
    assert untried["state"] == "not-applicable"
    assert "it was not tried on AMD Radeon RX 7900 XTX" in untried["detail"]
    assert {name: r["detail"] for name, r in rungs.items() if r["state"] != "passed"} == {}
    assert rungs["amd-launch"]["figures"]["numbers"] == "not checked"
    assert launched(seed.env, r"C:\hip.log") == ["add"]


@pytest.mark.parametrize(
    "architecture",
    [pytest.param(c, marks=() if c == "gfx1201" else pytest.mark.full) for c in CHIPS],
)
def test_code_objects_for_nine_chips(machine: Machine, architecture: str) -> None:
    env = machine.environment("3.12", "comfyui", [WHEELS["triton-3.8"]])
    rungs = verify(machine, env, *only("import-triton", "compile-hsaco"), "--chip", architecture)
    assert {name: r["detail"] for name, r in rungs.items() if r["state"] != "passed"} == {}
    assert rungs["compile-hsaco"]["figures"]["chip"] == architecture
