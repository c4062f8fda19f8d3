"""GPUs and their drivers, as their own libraries and Windows' registry describe them."""

from __future__ import annotations

import contextlib
import re
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from tritonwin.facts.amd import Chip, chip_of_device
from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import Driver, Gpu
from tritonwin.system.files import as_text, first_file, is_file, paths_in
from tritonwin.system.host import Host
from tritonwin.system.process import parse_answer, run

Vendor = Literal["nvidia", "amd", "intel"]

# "System-Defined Device Setup Classes" of Microsoft Learn: display adapters.
_DISPLAY = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_DRM = Path("/sys/class/drm")
_VENDORS: dict[str, Vendor] = {"10DE": "nvidia", "1002": "amd", "8086": "intel"}
_NAMES: tuple[tuple[str, Vendor], ...] = (
    ("nvidia", "nvidia"),
    ("advanced micro devices", "amd"),
    ("amd", "amd"),
    ("intel", "intel"),
)


Adapter = tuple[Gpu, Driver]  # the driver's version is in the system's own counting: "32.0.15.8157"


def display_adapters(host: Host, drm: Path = _DRM) -> tuple[Adapter, ...]:
    """The adapters of NVIDIA, AMD and Intel; virtual and remote ones are left out."""
    return tuple(_from_registry(host) if host.windows else _from_drm(drm))


def nvidia_version(windows_version: str | None) -> str | None:
    """NVIDIA's own number in Windows' driver version: "32.0.15.8157" is "581.57"."""
    match = re.fullmatch(r"\d+\.\d+\.\d*(\d)\.(\d{1,4})", windows_version or "")
    if match is None:
        return None
    digits = match[1] + match[2].zfill(4)
    return f"{digits[:3]}.{digits[3:]}"


def _from_registry(host: Host) -> Iterator[Adapter]:
    for number in host.registry.subkeys(_DISPLAY):
        key = f"{_DISPLAY}\\{number}"
        values = host.registry.values(key)
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        name, memory = texts.get("DriverDesc"), values.get("HardwareInformation.qwMemorySize")
        code = re.search(r"VEN_(\w{4})&DEV_(\w{4})", texts.get("MatchingDeviceId", "").upper())
        maker = texts.get("ProviderName", "").lower()
        by_name = (vendor for start, vendor in _NAMES if maker.startswith(start))
        vendor = _VENDORS.get(code[1]) if code else next(by_name, None)
        if vendor is not None and name is not None:
            chip = chip_of_device(code[2]) if code and vendor == "amd" else None
            version = texts.get("DriverVersion")
            yield _adapter(vendor, name, f"registry {key}", memory, version, chip)


def _from_drm(drm: Path) -> Iterator[Adapter]:
    for card in paths_in(drm, "card*"):
        vendor = _VENDORS.get(_line(card / "device" / "vendor").removeprefix("0x").upper())
        # card0-HDMI-A-1 is a connector
        if vendor is not None and re.fullmatch(r"card\d+", card.name):
            number = _line(card / "device" / "device").lower()
            chip = chip_of_device(number.removeprefix("0x")) if vendor == "amd" else None
            memory = _line(card / "device" / "mem_info_vram_total")
            name = _line(card / "device" / "product_name") or f"{vendor} device {number}"
            size = int(memory) if memory.isdecimal() else None
            yield _adapter(vendor, name, str(card), size, chip=chip)


def _line(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text("utf-8", "replace").strip()
    return ""


def _adapter(
    vendor: Vendor,
    name: str,
    source: str,
    memory: object,
    version: str | None = None,
    chip: Chip | None = None,
) -> Adapter:
    gpu = Gpu(
        index=0,
        vendor=vendor,
        name=name,
        source=source,
        architecture=chip.name if chip else None,
        integrated=chip.integrated if chip else None,
        memory_bytes=memory if isinstance(memory, int) else None,
    )
    return gpu, Driver(vendor=vendor, source=source, version=version)


_SMI_FIELDS = "name,compute_cap,driver_version,memory.total"
# ZLUDA, which runs CUDA programs on AMD's GPUs, adds this to the names of the devices.
_ZLUDA = "[ZLUDA]"
# of AMD's driver, the newest first; ROCm's wheels bring one of their own
HIP_LIBRARIES = ("amdhip64_7.dll", "amdhip64_6.dll")

Answer = tuple[tuple[Gpu, ...], Driver]


@dataclass(frozen=True, kw_only=True)
class Libraries:
    """Libraries to load and a program to start; None where it is not there."""

    nvml: str | None
    cuda: str | None
    smi: Path | None


def read_gpus(host: Host, timeout: float = 10) -> tuple[tuple[Gpu, ...], tuple[Driver, ...]]:
    """All GPUs, NVIDIA's first, and one driver record for each vendor.

    NVML is asked, else CUDA's driver, each in a child process; else `nvidia-smi`. A record for
    NVIDIA's driver is always there: its `error` says that it is missing, crashes or gives no
    answer within `timeout` seconds.
    """
    own: list[Adapter] = []
    others: list[Adapter] = []
    for adapter in display_adapters(host):
        (own if adapter[0].vendor == "nvidia" else others).append(adapter)
    gpus, driver = _nvidia(host, timeout)
    if not gpus:
        gpus = tuple(gpu for gpu, _ in own)
    if driver.version is None and own:
        driver = replace(driver, version=nvidia_version(own[0][1].version))
    # an AMD GPU that ZLUDA has shown already is not counted again
    shown = {gpu.name.removesuffix(_ZLUDA).strip() for gpu in gpus}
    gpus += tuple(gpu for gpu, _ in others if gpu.name not in shown)
    drivers = {each.vendor: each for _, each in reversed(others)}
    # beside an NVIDIA GPU programs take that one, and AMD's is the processor's
    if "amd" in drivers and host.windows and not any(gpu.vendor == "nvidia" for gpu in gpus):
        gpus, drivers["amd"] = _with_hip(gpus, drivers["amd"], host, timeout)
    return tuple(replace(gpu, index=i) for i, gpu in enumerate(gpus)), (driver, *drivers.values())


def _with_hip(
    gpus: tuple[Gpu, ...], driver: Driver, host: Host, timeout: float
) -> tuple[tuple[Gpu, ...], Driver]:
    """AMD's GPUs in the order of HIP, which is asked for them, and then those that it left out."""
    system32 = host.system32()
    path = first_file(system32, HIP_LIBRARIES) if system32 else None
    if path is None:
        return gpus, replace(driver, error="amdhip64_6.dll or _7.dll was not found in System32")
    answer, error = _child(("-", "-", str(path)), host, timeout)
    if answer is None:
        return gpus, replace(driver, error=error)
    shown = [Gpu(index=0, vendor="amd", source=str(path), **gpu) for gpu in answer["gpus"]]
    names = {gpu.name for gpu in shown}
    rest = (gpu for gpu in gpus if gpu.name.removesuffix(_ZLUDA).strip() not in names)
    found = (*shown, *rest)
    return found, replace(driver, hip=answer.get("hip"), error=answer["error"])


def nvidia_libraries(host: Host) -> Libraries:
    """NVIDIA's libraries in the places where the driver's installer puts them."""
    if not host.windows:
        smi = next(iter(host.executables("nvidia-smi")), None)
        return Libraries(nvml="libnvidia-ml.so.1", cuda="libcuda.so.1", smi=smi)
    system32 = host.system32()
    folders = [f / "NVIDIA Corporation" / "NVSMI" for f in host.program_files()]
    cuda = None
    if system32 is not None:
        folders.insert(0, system32)
        cuda = first_file(system32, ("nvcuda.dll",))
    nvml, smi = (
        next((p for f in folders if is_file(p := f / name)), None)
        for name in ("nvml.dll", "nvidia-smi.exe")
    )
    return Libraries(nvml=as_text(nvml), cuda=as_text(cuda), smi=smi)


def _nvidia(host: Host, timeout: float) -> Answer:
    libraries = nvidia_libraries(host)
    if libraries.nvml is None and libraries.cuda is None and libraries.smi is None:
        return (), Driver(vendor="nvidia", source="System32", error="nvcuda.dll was not found")
    gpus, driver = _ask_libraries(libraries, host, timeout)
    if driver.error is not None and not gpus and libraries.smi is not None:
        asked = _ask_smi(libraries.smi, host, timeout)
        gpus, driver = asked if asked is not None else (gpus, driver)
    if host.windows and libraries.cuda is None:
        # NVML alone does not run a kernel
        driver = replace(driver, error="nvcuda.dll was not found in System32")
    elif driver.version is None and libraries.cuda is not None and host.windows:
        image = read_pe(libraries.cuda, version=True)
        driver = replace(driver, version=nvidia_version(image.file_version if image else None))
    return gpus, driver


def _ask_libraries(libraries: Libraries, host: Host, timeout: float) -> Answer:
    """NVML and CUDA in one child; CUDA alone in a second one when NVML ends the first."""
    asked = [libraries]
    if libraries.nvml and libraries.cuda:
        asked.append(replace(libraries, nvml=None))
    for attempt in asked:
        source = attempt.nvml or attempt.cuda or "driver libraries"
        paths = (attempt.nvml or "-", attempt.cuda or "-", "-")
        answer, error = _child(paths, host, timeout)
        if answer is not None:
            return _answer(answer)
        failed = Driver(vendor="nvidia", source=source, error=error)
        if not error.startswith("crashed"):
            break
    return (), failed


def _child(paths: tuple[str, ...], host: Host, timeout: float) -> tuple[dict[str, Any] | None, str]:
    """The answer of gpu_script.py, which loads these libraries; else why there is none."""
    cookie = secrets.token_hex(16)
    done = run(
        sys.executable,
        ("-I", "-B", "-", cookie, *paths),
        timeout=timeout,
        env=dict(host.env.data),
        stdin=files("tritonwin.facts").joinpath("gpu_script.py").read_bytes(),
    )
    if done.timed_out:
        return None, f"no answer within {timeout:g} s"
    return parse_answer(done.out, cookie), f"crashed: {done.ending()}"


def _answer(answer: dict[str, Any]) -> Answer:
    gpus = tuple(
        Gpu(
            index=index,
            vendor="amd" if gpu["name"].endswith(_ZLUDA) else "nvidia",
            source=answer["source"],
            **gpu,
        )
        for index, gpu in enumerate(answer.pop("gpus"))
    )
    return gpus, Driver(vendor="nvidia", **answer)


def _ask_smi(smi: Path, host: Host, timeout: float) -> Answer | None:
    """None where `nvidia-smi` says nothing of use. Its header is not read: it changes."""
    try:
        done = run(
            smi,
            (f"--query-gpu={_SMI_FIELDS}", "--format=csv,noheader"),
            timeout=timeout,
            env=dict(host.env.data),
        )
    except OSError:
        return None
    return None if done.code else parse_smi(done.out.decode("utf-8", "replace"), str(smi))


def parse_smi(text: str, source: str) -> Answer | None:
    """Rows of `nvidia-smi --query-gpu=name,compute_cap,driver_version,memory.total`."""
    rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
    rows = [row for row in rows if len(row) == len(_SMI_FIELDS.split(","))]
    if not rows:
        return None
    gpus = tuple(
        Gpu(
            index=index,
            vendor="nvidia",
            name=name,
            source=source,
            compute_capability=capability if capability[:1].isdecimal() else None,
            memory_bytes=int(size[1]) << 20 if (size := re.match(r"(\d+) MiB", memory)) else None,
        )
        for index, (name, capability, _, memory) in enumerate(rows)
    )
    return gpus, Driver(vendor="nvidia", source=source, version=rows[0][2])
