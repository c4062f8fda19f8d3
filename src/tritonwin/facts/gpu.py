"""GPUs and their drivers, as NVIDIA's libraries and Windows' registry describe them."""

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

from tritonwin.facts.dlls.pe import read_pe
from tritonwin.facts.records import Driver, Gpu
from tritonwin.system.files import is_file, paths_in
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


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A display adapter with the version of its driver in the system's own counting."""

    vendor: Vendor
    name: str
    source: str
    driver_version: str | None = None  # "32.0.15.8157"
    memory_bytes: int | None = None


def display_adapters(host: Host, drm: Path = _DRM) -> tuple[Adapter, ...]:
    """The adapters of NVIDIA, AMD and Intel; virtual and remote ones are left out."""
    return tuple(_from_registry(host) if host.windows else _from_drm(drm))


def nvidia_version(windows_version: str) -> str | None:
    """NVIDIA's own number in Windows' driver version: "32.0.15.8157" is "581.57"."""
    match = re.fullmatch(r"\d+\.\d+\.\d*(\d)\.(\d{1,4})", windows_version)
    if match is None:
        return None
    digits = match[1] + match[2].zfill(4)
    return f"{digits[:3]}.{digits[3:]}"


def _from_registry(host: Host) -> Iterator[Adapter]:
    for number in host.registry.subkeys(_DISPLAY):
        key = f"{_DISPLAY}\\{number}"
        values = host.registry.values(key)
        texts = {name: value for name, value in values.items() if isinstance(value, str)}
        vendor = _vendor(texts.get("MatchingDeviceId", ""), texts.get("ProviderName", ""))
        name = texts.get("DriverDesc")
        if vendor is None or name is None:
            continue
        memory = values.get("HardwareInformation.qwMemorySize")
        yield Adapter(
            vendor=vendor,
            name=name,
            source=f"registry {key}",
            driver_version=texts.get("DriverVersion"),
            memory_bytes=memory if isinstance(memory, int) else None,
        )


def _vendor(device: str, provider: str) -> Vendor | None:
    code = re.search(r"VEN_([0-9A-F]{4})", device.upper())
    if code:
        return _VENDORS.get(code[1])
    words = provider.lower()
    return next((vendor for name, vendor in _NAMES if words.startswith(name)), None)


def _from_drm(drm: Path) -> Iterator[Adapter]:
    for card in paths_in(drm, "card*"):
        if not re.fullmatch(r"card\d+", card.name):  # card0-HDMI-A-1 is a connector
            continue
        vendor = _VENDORS.get(_hex(card / "device" / "vendor"))
        if vendor is None:
            continue
        name = _line(card / "device" / "product_name")
        memory = _line(card / "device" / "mem_info_vram_total")
        yield Adapter(
            vendor=vendor,
            name=name or f"{vendor} device 0x{_hex(card / 'device' / 'device').lower()}",
            source=str(card),
            memory_bytes=int(memory) if memory.isdecimal() else None,
        )


def _hex(path: Path) -> str:
    return _line(path).removeprefix("0x").upper()


def _line(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text("utf-8", "replace").strip()
    return ""


_MIB = 1024 * 1024
_SMI_FIELDS = "name,compute_cap,driver_version,memory.total"
# ZLUDA, which runs CUDA programs on AMD's GPUs, adds this to the names of the devices.
_ZLUDA = "[ZLUDA]"

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
    adapters = display_adapters(host)
    gpus, driver = _nvidia(host, timeout)
    own = [adapter for adapter in adapters if adapter.vendor == "nvidia"]
    if not gpus:
        gpus = tuple(_listed(adapter) for adapter in own)
    if driver.version is None and own and own[0].driver_version:
        driver = replace(driver, version=nvidia_version(own[0].driver_version))
    # an AMD GPU that ZLUDA has shown already is not counted again
    shown = {gpu.name.removesuffix(_ZLUDA).strip() for gpu in gpus}
    others = [a for a in adapters if a.vendor != "nvidia"]
    gpus += tuple(_listed(adapter) for adapter in others if adapter.name not in shown)
    drivers = {a.vendor: _driver(a) for a in reversed(others)}
    return tuple(replace(gpu, index=i) for i, gpu in enumerate(gpus)), (driver, *drivers.values())


def nvidia_libraries(host: Host) -> Libraries:
    """NVIDIA's libraries in the places where the driver's installer puts them."""
    if not host.windows:
        smi = next(iter(host.executables("nvidia-smi")), None)
        return Libraries(nvml="libnvidia-ml.so.1", cuda="libcuda.so.1", smi=smi)
    system32 = host.system32()
    folders = [f / "NVIDIA Corporation" / "NVSMI" for f in host.program_files()]
    if system32 is not None:
        folders.insert(0, system32)

    def first(name: str) -> Path | None:
        return next((f / name for f in folders if is_file(f / name)), None)

    cuda = system32 / "nvcuda.dll" if system32 else None
    nvml = first("nvml.dll")
    return Libraries(
        nvml=str(nvml) if nvml else None,
        cuda=str(cuda) if cuda and is_file(cuda) else None,
        smi=first("nvidia-smi.exe"),
    )


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
        version = image.file_version if image else None
        driver = replace(driver, version=nvidia_version(version) if version else None)
    return gpus, driver


def _ask_libraries(libraries: Libraries, host: Host, timeout: float) -> Answer:
    """NVML and CUDA in one child; CUDA alone in a second one when NVML ends the first."""
    asked = [libraries, replace(libraries, nvml=None)] if libraries.nvml else [libraries]
    for attempt in asked:
        source = attempt.nvml or attempt.cuda or "driver libraries"
        cookie = secrets.token_hex(16)
        done = run(
            sys.executable,
            ("-I", "-B", "-", cookie, attempt.nvml or "-", attempt.cuda or "-"),
            timeout=timeout,
            env=dict(host.env.data),
            stdin=files("tritonwin.facts").joinpath("gpu_script.py").read_bytes(),
        )
        answer = parse_answer(done.out, cookie)
        if answer is not None:
            return _understand(answer, source)
        if done.timed_out:
            error = f"no answer within {timeout:g} s"
            return (), Driver(vendor="nvidia", source=source, error=error)
        failed = Driver(vendor="nvidia", source=source, error=f"crashed: {done.ending()}")
    return (), failed


def _understand(answer: dict[str, Any], source: str) -> Answer:
    parts = [part for name in ("nvml", "cuda") if isinstance(part := answer.get(name), dict)]
    good = [part for part in parts if not part.get("error")]
    if not parts:
        return (), Driver(vendor="nvidia", source=source, error="nvcuda.dll was not found")
    part = (good or parts)[-1]
    where = str(part.get("source"))
    gpus = tuple(
        Gpu(
            index=index,
            vendor="amd" if str(gpu["name"]).endswith(_ZLUDA) else "nvidia",
            source=where,
            **gpu,
        )
        for index, gpu in enumerate(part.get("gpus", ()))
    )
    driver = Driver(
        vendor="nvidia",
        source=where,
        version=part.get("driver"),
        cuda=part.get("cuda"),
        error=part.get("error"),
    )
    return gpus, driver


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
            memory_bytes=_mebibytes(memory),
        )
        for index, (name, capability, _, memory) in enumerate(rows)
    )
    return gpus, Driver(vendor="nvidia", source=source, version=rows[0][2])


def _mebibytes(text: str) -> int | None:
    number, _, unit = text.partition(" ")
    return int(number) * _MIB if number.isdecimal() and unit == "MiB" else None


def _listed(adapter: Adapter) -> Gpu:
    return Gpu(
        index=0,
        vendor=adapter.vendor,
        name=adapter.name,
        source=adapter.source,
        memory_bytes=adapter.memory_bytes,
    )


def _driver(adapter: Adapter) -> Driver:
    return Driver(vendor=adapter.vendor, source=adapter.source, version=adapter.driver_version)
