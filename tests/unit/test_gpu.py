"""Drivers that are asked for their GPUs; what the registry says alone: finders.toml."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import cases
from hosts import MemoryRegistry, fake_host
from pace import PATIENCE
from trees import plant

from tritonwin.facts import gpu as gpu_module
from tritonwin.facts.amd import chips, served
from tritonwin.facts.gpu import nvidia_version, read_gpus
from tritonwin.facts.records import Driver, Gpu
from tritonwin.system.process import Completed
from tritonwin.system.registry import Value

TESTS = Path(__file__).parents[1]
DISPLAY = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"


def adapter(name: str, device: str, version: str = "32.0.21025.10016") -> dict[str, Value]:
    return {"DriverDesc": name, "DriverVersion": version, "MatchingDeviceId": rf"PCI\{device}"}


NVIDIA = adapter("NVIDIA GeForce RTX 4070", "VEN_10DE&DEV_2786")
AMD = adapter("AMD Radeon RX 7900 XTX", "VEN_1002&DEV_744C&REV_C8")
AMD["HardwareInformation.qwMemorySize"] = 24 << 30
RAPHAEL = adapter("AMD Radeon(TM) Graphics", "VEN_1002&DEV_164E&REV_C1")
Found = tuple[tuple[Gpu, ...], tuple[Driver, ...]]


def registry(*adapters: dict[str, Value]) -> MemoryRegistry:
    return MemoryRegistry({rf"{DISPLAY}\{i:04}": a for i, a in enumerate(adapters)})


def stand_in(source: Path, library: Path) -> None:
    """A driver's library, built for this system from C."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler for a stand-in of a driver")
    library.parent.mkdir(exist_ok=True)
    command = [compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(source)]
    subprocess.run(command, check=True, timeout=60)


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("drivers")
    stand_in(TESTS / "fake_driver.c", folder / "libnvidia-ml.so.1")
    return folder


def asked(folder: Path, timeout: float = PATIENCE, **env: str) -> Found:
    variables = {"LD_LIBRARY_PATH": str(folder), **env}
    return read_gpus(fake_host(folder, variables, windows=False), timeout)


def test_nvml(drivers: Path) -> None:
    gpus, found = asked(drivers)
    source = "libnvidia-ml.so.1"
    assert found == (Driver(vendor="nvidia", source=source, version="581.57", cuda="12.8"),)
    assert gpus[0] == Gpu(
        index=0,
        vendor="nvidia",
        name="NVIDIA GeForce RTX 4090",
        source=source,
        compute_capability="8.9",
        memory_bytes=24 << 30,
    )
    assert [(g.index, g.compute_capability) for g in gpus] == [(0, "8.9"), (1, "6.1")]


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("hang", "no answer within 1 s"),
        ("9", "nvmlInit_v2: error 9"),
        ("crash", "crashed: signal 6 (Aborted)"),
    ],
)
def test_a_driver_in_trouble(drivers: Path, trouble: str, error: str) -> None:
    gpus, found = asked(drivers, 1 if trouble == "hang" else PATIENCE, FAKE_NVML=trouble)
    assert gpus == ()
    assert [(d.error, d.version) for d in found] == [(error, None)]


@pytest.fixture(scope="module")
def hip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Windows folder with the lane's stand-in of AMD's runtime, built for this system."""
    folder = tmp_path_factory.mktemp("hip")
    source = TESTS.parent / "tools" / "winlane" / "fakes" / "amdhip64.c"
    stand_in(source, folder / "System32" / "amdhip64_7.dll")
    return folder


BOTH = "gfx1036,AMD Radeon(TM) Graphics,2,1;gfx1100:sramecc+,AMD Radeon RX 7900 XTX,24,0"


@pytest.mark.parametrize(
    ("env", "gpus", "driver"),
    [
        pytest.param(
            {"FAKEHIP_DEVICES": BOTH, "HIP_VISIBLE_DEVICES": "1"},
            [("gfx1036", True, 2), ("gfx1100", False, 24)],
            ("6.3", None),
            id="integrated beside discrete, in the order of HIP",
        ),
        pytest.param(
            {"FAKEHIP_DEVICES": BOTH.partition(";")[2], "FAKEHIP_VERSION": "70226194"},
            [("gfx1100", False, 24), ("gfx1036", True, None)],
            ("7.2", None),
            id="HIP leaves one out",
        ),
        pytest.param(
            {"FAKEHIP_DEVICES": "0"},
            [("gfx1100", False, 24), ("gfx1036", True, None)],
            ("6.3", "hipGetDeviceCount: error 100"),
            id="no device",
        ),
        pytest.param(
            {"FAKEHIP_HANG": "1"},
            [("gfx1100", False, 24), ("gfx1036", True, None)],
            (None, "no answer within 1 s"),
            id="a driver that hangs",
        ),
    ],
)
def test_amds_runtime(
    hip: Path,
    env: dict[str, str],
    gpus: list[tuple[str, bool, int | None]],
    driver: tuple[str | None, str | None],
) -> None:
    host = fake_host(hip, {"SystemRoot": str(hip), **env}, registry(AMD, RAPHAEL))
    found, drivers = read_gpus(host, 1 if "FAKEHIP_HANG" in env else PATIENCE)
    assert [
        (g.architecture, g.integrated, g.memory_bytes and g.memory_bytes >> 30) for g in found
    ] == gpus
    (amd,) = (d for d in drivers if d.vendor == "amd")
    assert (amd.version, (amd.hip, amd.error)) == ("32.0.21025.10016", driver)


def test_amds_runtime_is_not_asked_beside_an_nvidia_gpu(
    hip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_module, "_with_hip", lambda *_: pytest.fail("asked"))
    gpus, _ = read_gpus(fake_host(hip, {"SystemRoot": str(hip)}, registry(NVIDIA, RAPHAEL)))
    assert [gpu.vendor for gpu in gpus] == ["nvidia", "amd"]


def test_the_table_of_chips() -> None:
    ids = [device for chip in chips() for device in chip.devices]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch("[0-9a-f]{4}", device) for device in ids)
    names = [chip.name for chip in chips()]
    assert len(names) == len(set(names))
    assert served("gfx110x-all") == ("gfx1100", "gfx1101", "gfx1102", "gfx1103")
    assert served("gfx1151") == ("gfx1151",)


@pytest.mark.parametrize(
    ("there", "missing"), [("nvml.dll", "nvcuda.dll"), ("nvcuda.dll", "nvml.dll")]
)
def test_a_driver_of_which_a_part_is_gone(tmp_path: Path, there: str, missing: str) -> None:
    plant(tmp_path, f"System32/{there}")
    host = fake_host(tmp_path, {"SystemRoot": str(tmp_path)}, registry(NVIDIA))
    (gpu,), (driver,) = read_gpus(host)
    assert gpu.compute_capability is None
    assert driver.error == f"{missing} was not found"


@pytest.mark.parametrize(("windows", "nvidia"), cases("finders.toml", "nvidia_versions"))
def test_nvidia_version(windows: str, nvidia: str) -> None:
    assert (nvidia_version(windows) or "") == nvidia


def test_garbage_from_the_child_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "System32/nvcuda.dll", "System32/nvml.dll")
    crash = Completed(0xC0000005, b"garbage", b"")
    monkeypatch.setattr(gpu_module, "run", lambda *args, **kwargs: crash)
    _, (driver,) = read_gpus(fake_host(tmp_path, {"SystemRoot": str(tmp_path)}))
    assert driver.error == "crashed: 0xC0000005 (access violation)"
