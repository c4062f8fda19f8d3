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


_SMI_FIELDS = ("name", "compute_cap", "driver_version", "memory.total")
# ZLUDA, which runs CUDA programs on AMD's GPUs, adds this to the names of the devices.
_ZLUDA = "[ZLUDA]"
# of AMD's driver, the newest first; ROCm's wheels bring one of their own
HIP_LIBRARIES = ("amdhip64_7.dll", "amdhip64_6.dll")

Answer = tuple[tuple[Gpu, ...], Driver]


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


def _nvidia(host: Host, timeout: float) -> Answer:
    """NVML and CUDA in one child; CUDA alone in a second one when NVML ends the first."""
    nvml, cuda, smi = _nvidia_files(host)
    gpus: tuple[Gpu, ...] = ()
    driver = Driver(vendor="nvidia", source="System32", error="nvcuda.dll was not found")
    for paths in ((nvml, cuda), (None, cuda)) if nvml and cuda else ((nvml, cuda),):
        source = paths[0] or paths[1]
        if source is None:
            break
        answer, error = _child((paths[0] or "-", paths[1] or "-", "-"), host, timeout)
        gpus, driver = (), Driver(vendor="nvidia", source=source, error=error)
        if answer is not None:
            gpus, driver = _answer(answer)
        if answer is not None or not error.startswith("crashed"):
            break
    if driver.error is not None and not gpus and smi is not None:
        gpus, driver = _ask_smi(smi, host, timeout) or (gpus, driver)
    if host.windows and nvml and cuda is None:
        # NVML alone does not run a kernel
        driver = replace(driver, error="nvcuda.dll was not found in System32")
    return gpus, driver


def _nvidia_files(host: Host) -> tuple[str | None, str | None, Path | None]:
    """NVML, CUDA's driver and `nvidia-smi`."""
    if not host.windows:
        smi = next(iter(host.executables("nvidia-smi")), None)
        return "libnvidia-ml.so.1", "libcuda.so.1", smi
    folder = host.system32()
    names = ("nvml.dll", "nvcuda.dll", "nvidia-smi.exe")
    nvml, cuda, smi = (first_file(folder, (name,)) if folder else None for name in names)
    return as_text(nvml), as_text(cuda), smi


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
    query = (f"--query-gpu={','.join(_SMI_FIELDS)}", "--format=csv,noheader")
    try:
        done = run(smi, query, timeout=timeout, env=dict(host.env.data))
    except OSError:
        return None
    lines = done.out.decode("utf-8", "replace").splitlines()
    rows = [[cell.strip() for cell in line.split(",")] for line in lines]
    rows = [row for row in rows if len(row) == len(_SMI_FIELDS)]
    if done.code or not rows:
        return None
    gpus = tuple(
        Gpu(
            index=index,
            vendor="nvidia",
            name=name,
            source=str(smi),
            compute_capability=capability if capability[:1].isdecimal() else None,
            memory_bytes=int(size[1]) << 20 if (size := re.match(r"(\d+) MiB", memory)) else None,
        )
        for index, (name, capability, _, memory) in enumerate(rows)
    )
    return gpus, Driver(vendor="nvidia", source=str(smi), version=rows[0][2])
