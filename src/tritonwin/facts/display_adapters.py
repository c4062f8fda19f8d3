"""The display adapters that the operating system knows, whoever made them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.system.files import paths_in
from tritonwin.system.host import Host

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
