"""Windows SDKs, side by side, and the one that triton-windows would take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath

from tritonwin.facts.records import WindowsSdk
from tritonwin.facts.toolchain.precedence import in_order
from tritonwin.system.files import is_file, names_in, version_key
from tritonwin.system.host import Host

_TRITON_ASKS = ("Include/{}/ucrt/stdlib.h", "Lib/{}/ucrt/x64/ucrt.lib")
SDK_PARTS = (*_TRITON_ASKS, "Include/{}/um/Windows.h", "Lib/{}/um/x64/kernel32.lib")
_REGISTRY = (
    ("HKLM\\SOFTWARE\\Microsoft\\Microsoft SDKs\\Windows\\v10.0", "InstallationFolder"),
    ("HKLM\\SOFTWARE\\Microsoft\\Windows Kits\\Installed Roots", "KitsRoot10"),
)


@dataclass(frozen=True)
class _Found:
    root: Path
    version: str
    source: str
    sought: bool = True  # False: Triton does not take it from here


def find_windows_sdks(host: Host) -> tuple[WindowsSdk, ...]:
    """List every SDK version once, in the order of triton-windows' `find_winsdk()`.

    That order is: WindowsSdkDir with WindowsSDKVersion (or WindowsSDKVer); the registry; Program
    Files\\Windows Kits\\10; the highest version first. `chosen` is the first with `stdlib.h` and
    `ucrt.lib`, which is all that Triton asks for; `missing` also names `Windows.h` and
    `kernel32.lib`, which every build needs. Both views of the registry are read; Triton reads
    the 32-bit view of `v10.0` only, and both hold the same folder where Microsoft's installer
    wrote them.
    """
    return in_order(
        _candidates(host),
        lambda found: found.root / "Include" / found.version,
        _describe,
        lambda found, sdk: (
            found.sought
            and not any(_shown(part, found.version) in sdk.missing for part in _TRITON_ASKS)
        ),
    )


def _describe(found: _Found) -> WindowsSdk:
    absent = (part for part in SDK_PARTS if not is_file(found.root / part.format(found.version)))
    return WindowsSdk(
        version=found.version,
        path=str(found.root),
        source=found.source,
        missing=tuple(_shown(part, found.version) for part in absent),
    )


def _candidates(host: Host) -> Iterator[_Found]:
    root = host.env.folder("WindowsSdkDir")
    version = _version_variable(host)
    if root and version:
        yield _Found(root, version, "variable WindowsSdkDir")
    for key, name in _REGISTRY:
        for view in (32, 64):
            value = host.registry.value(key, name, view=view)
            if isinstance(value, str) and value:
                yield from _versions(Path(value), f"registry {key}")
    for folder in host.program_files():
        yield from _versions(folder / "Windows Kits" / "10", "Program Files")
    if root and not version:
        for found in _versions(root, "variable WindowsSdkDir"):
            yield replace(found, sought=False)  # Triton asks for both variables


def _version_variable(host: Host) -> str:
    """`10.0.22621.0\\` without its end; a prompt without an SDK leaves a lone backslash."""
    value = host.env.get("WindowsSDKVersion") or host.env.get("WindowsSDKVer") or ""
    return value.strip().rstrip("\\/")


def _versions(root: Path, source: str) -> Iterator[_Found]:
    names = (name for name in names_in(root / "Include") if name.startswith("10."))
    for name in sorted(names, key=version_key, reverse=True):
        yield _Found(root, name, source)


def _shown(part: str, version: str) -> str:
    return str(PureWindowsPath(part.format(version)))
