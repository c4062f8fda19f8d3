"""GPUs and their drivers, as their own libraries and Windows' registry describe them."""

from __future__ import annotations

import contextlib
import re
import secrets
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from tritonwin.facts.amd import chip_of_device
from tritonwin.facts.records import Driver, Gpu
from tritonwin.system.files import as_text, first_file, paths_in
from tritonwin.system.host import Host
from tritonwin.system.process import parse_answer, run

Vendor = Literal["nvidia", "amd", "intel"]

# "System-Defined Device Setup Classes" of Microsoft Learn: display adapters.
_DISPLAY = r"HKLM\SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_DRM = Path("/sys/class/drm")
_VENDORS: dict[str, Vendor] = {"10DE": "nvidia", "1002": "amd", "8086": "intel"}

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
        code = re.search(r"VEN_(\w{4})&DEV_(\w{4})", str(values.get("MatchingDeviceId")).upper())
        name, version = (values.get(n) for n in ("DriverDesc", "DriverVersion"))
        if code and isinstance(name, str):
            memory = values.get("HardwareInformation.qwMemorySize")
            version = version if isinstance(version, str) else None
            yield from _adapter(code[1], code[2], name, f"registry {key}", memory, version)


def _from_drm(drm: Path) -> Iterator[Adapter]:
    for card in paths_in(drm, "card*"):
        if re.fullmatch(r"card\d+", card.name):  # card0-HDMI-A-1 is a connector
            device = card / "device"
            maker, number = (_line(device / n).removeprefix("0x") for n in ("vendor", "device"))
            memory = _line(device / "mem_info_vram_total")
            size = int(memory) if memory.isdecimal() else None
            yield from _adapter(maker, number, _line(device / "product_name"), str(card), size)


def _line(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text("utf-8", "replace").strip()
    return ""


def _adapter(
    maker: str, number: str, name: str, source: str, memory: object, version: str | None = None
) -> Iterator[Adapter]:
    """The adapter of these PCI ids, of a vendor that matters."""
    vendor = _VENDORS.get(maker.upper())
    if vendor is None:
        return
    chip = chip_of_device(number) if vendor == "amd" else None
    gpu = Gpu(
        index=0,
        vendor=vendor,
        name=name or f"{vendor} device 0x{number.lower()}",
        source=source,
        architecture=chip.name if chip else None,
        integrated=chip.integrated if chip else None,
        memory_bytes=memory if isinstance(memory, int) else None,
    )
    yield gpu, Driver(vendor=vendor, source=source, version=version)


# of AMD's driver, the newest first; ROCm's wheels bring one of their own
HIP_LIBRARIES = ("amdhip64_7.dll", "amdhip64_6.dll")


def read_gpus(host: Host, timeout: float = 10) -> tuple[tuple[Gpu, ...], tuple[Driver, ...]]:
    """All GPUs, NVIDIA's first, and one driver record for each vendor.

    NVIDIA's GPUs are asked of NVML, in a child process. A record for NVIDIA's driver is always
    there: its `error` says that it is missing, crashes or gives no answer within `timeout` seconds.
    """
    own: list[Adapter] = []
    others: list[Adapter] = []
    for adapter in display_adapters(host):
        (own if adapter[0].vendor == "nvidia" else others).append(adapter)
    asked, driver = _nvidia(host, timeout)
    if driver.version is None and own:
        driver = replace(driver, version=nvidia_version(own[0][1].version))
    gpus = (*(asked or (gpu for gpu, _ in own)), *(gpu for gpu, _ in others))
    drivers = {each.vendor: each for _, each in reversed(others)}
    # beside an NVIDIA GPU programs take that one, and AMD's is the processor's
    if "amd" in drivers and host.windows and not any(gpu.vendor == "nvidia" for gpu in gpus):
        gpus, drivers["amd"] = _with_hip(gpus, drivers["amd"], host, timeout)
    return tuple(replace(gpu, index=i) for i, gpu in enumerate(gpus)), (driver, *drivers.values())


def _with_hip(
    gpus: tuple[Gpu, ...], driver: Driver, host: Host, timeout: float
) -> tuple[tuple[Gpu, ...], Driver]:
    """AMD's GPUs in the order of HIP, which is asked for them, and then those that it left out."""
    path = _library(host, HIP_LIBRARIES)
    if path is None:
        return gpus, replace(driver, error="amdhip64_6.dll or _7.dll was not found in System32")
    answer = _child("hip", path, host, timeout)
    shown = tuple(Gpu(index=0, vendor="amd", source=path, **gpu) for gpu in answer.pop("gpus"))
    names = {gpu.name for gpu in shown}
    rest = (gpu for gpu in gpus if gpu.name not in names)
    return (*shown, *rest), replace(driver, **answer)


def _nvidia(host: Host, timeout: float) -> tuple[tuple[Gpu, ...], Driver]:
    names = ("nvcuda.dll", "nvml.dll") if host.windows else ()  # NVML alone runs no kernel
    found = {name: _library(host, (name,)) for name in names}
    missing = next((name for name, path in found.items() if path is None), None)
    if missing is not None:
        error = f"{missing} was not found"
        return (), Driver(vendor="nvidia", source="System32", error=error)
    source = found.get("nvml.dll") or "libnvidia-ml.so.1"
    answer = _child("nvml", source, host, timeout)
    gpus = (Gpu(index=0, vendor="nvidia", source=source, **gpu) for gpu in answer.pop("gpus"))
    return tuple(gpus), Driver(vendor="nvidia", source=source, **answer)


def _library(host: Host, names: tuple[str, ...]) -> str | None:
    folder = host.system32()
    return as_text(first_file(folder, names)) if folder else None


def _child(kind: Literal["nvml", "hip"], path: str, host: Host, timeout: float) -> dict[str, Any]:
    """The answer of gpu_script.py, which loads this library: `gpus`, fields of a `Driver`."""
    cookie = secrets.token_hex(16)
    done = run(
        sys.executable,
        ("-I", "-B", "-", cookie, kind, path),
        timeout=timeout,
        env=dict(host.env.data),
        stdin=files("tritonwin.facts").joinpath("gpu_script.py").read_bytes(),
    )
    answer = None if done.timed_out else parse_answer(done.out, cookie)
    failed = f"no answer within {timeout:g} s" if done.timed_out else f"crashed: {done.ending()}"
    return answer or {"gpus": (), "error": failed}
