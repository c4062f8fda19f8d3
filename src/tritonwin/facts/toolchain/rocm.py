"""AMD's ROCm in its three forms on Windows: the HIP SDK, the `rocm_sdk` wheels, and ZLUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tritonwin.facts.amd import served
from tritonwin.facts.records import Interpreter, Rocm
from tritonwin.system.files import (
    first_file,
    is_folder,
    names_in,
    same_place,
    version_key,
)
from tritonwin.system.host import Host

_SDK_PARTS = {
    "hip_runtime.h": ("include/hip/hip_runtime.h",),
    "amdhip64": ("lib/amdhip64.lib", "lib/libamdhip64.so"),
    "clang": ("bin/clang.exe", "lib/llvm/bin/clang.exe", "llvm/bin/clang", "lib/llvm/bin/clang"),
}
_ZLUDA_FILE = re.compile(r"(?:lib)?zluda(?:[_.-].*)?\.(?:exe|dll|so)", re.IGNORECASE)
# rocm-sdk-device-gfx1100, or the older rocm-sdk-libraries-gfx110x-all; torch's part is apart
_FOR_CHIPS = re.compile(r"rocm_sdk_(?:device|libraries)_(gfx\w+?)-[^-]+\.dist-info")
_TORCH_FOR_CHIP = re.compile(r"amd_torch_device_(gfx\w+?)-[^-]+\.dist-info")
_VERSION = re.compile(r"rocm(?:_sdk_core)?-([^-]+)\.dist-info")
_ZLUDA_FOLDERS = ("zluda", ".zluda", "ZLUDA")


def find_rocm(target: Interpreter | None, host: Host) -> tuple[Rocm, ...]:
    """List what could run HIP or pretend to be CUDA: wheels, SDKs, ZLUDA.

    triton-windows' `find_hip()` asks the package `rocm_sdk` and looks nowhere else. SDKs are
    looked for by ROCM_PATH and HIP_PATH, then in Program Files\\AMD\\ROCm, %SystemDrive%\\ROCm
    and /opt/rocm. ZLUDA is a folder that holds both the CUDA driver's name (nvcuda.dll) and files
    of ZLUDA: by the variable ZLUDA (SD.Next's), in or below the application's and the current
    folder, or on PATH.
    """
    found = (*_wheels(target), *_sdks(host), *_zluda(host))
    unique = {same_place(Path(rocm.path)): rocm for rocm in reversed(found)}
    return tuple(unique.values())[::-1]


def _wheels(target: Interpreter | None) -> Iterator[Rocm]:
    for folder in map(Path, target.site_packages if target else ()):
        core = folder / "_rocm_sdk_core"
        libraries = (*names_in(core / "bin"), *names_in(core / "lib"))
        whole = {
            "amdhip64": any("amdhip64" in name.lower() for name in libraries),
            "rocm_sdk": is_folder(folder / "rocm_sdk"),
        }
        if is_folder(core):
            found = names_in(folder)
            version = next((m[1] for name in found if (m := _VERSION.fullmatch(name))), None)
            packed = any(name.startswith("rocm_sdk_devel-") for name in found)
            expanded = is_folder(folder / "_rocm_sdk_devel")
            yield Rocm(
                path=str(core),
                source="site-packages",
                kind="rocm-wheels",
                missing=tuple(part for part, there in whole.items() if not there),
                version=version,
                chips=_chips(_FOR_CHIPS, found),
                devel="expanded" if expanded else "packed" if packed else "absent",
            )


def torch_chips(site_packages: Path) -> tuple[str, ...]:
    """The chips for which a part of torch is installed; empty for a torch that has no parts."""
    return _chips(_TORCH_FOR_CHIP, names_in(site_packages))


def _chips(pattern: re.Pattern[str], names: Iterable[str]) -> tuple[str, ...]:
    suffixes = (m[1] for name in names if (m := pattern.fullmatch(name)))
    return tuple(dict.fromkeys(c for s in suffixes for c in served(s.lower().replace("_", "-"))))


def _sdks(host: Host) -> Iterator[Rocm]:
    named = [(host.env.folder(name), f"variable {name}") for name in ("ROCM_PATH", "HIP_PATH")]
    parents = [folder / "AMD" / "ROCm" for folder in host.program_files()]
    installed = [
        (parent / name, "Program Files")
        for parent in parents
        for name in sorted(names_in(parent), key=version_key, reverse=True)
    ]
    drive = host.env.get("SystemDrive") or "C:"
    usual = (Path(f"{drive}/ROCm"), "system drive") if host.windows else (Path("/opt/rocm"), "/opt")
    for path, source in (*named, *installed, usual):
        if path is not None and is_folder(path):
            missing = (part for part, where in _SDK_PARTS.items() if not first_file(path, where))
            yield Rocm(path=str(path), source=source, kind="hip-sdk", missing=tuple(missing))


def _zluda(host: Host) -> Iterator[Rocm]:
    roots = ((host.app, "application folder"), (host.cwd, "current folder"))
    places = [
        (host.env.folder("ZLUDA"), "variable ZLUDA"),
        *((r / name, source) for r, source in roots if r for name in ("", *_ZLUDA_FOLDERS)),
        *((entry, "PATH") for entry in host.env.path_entries()),
    ]
    for folder, source in places:
        if folder and first_file(folder, ("nvcuda.dll", "libcuda.so", "libcuda.so.1")):
            named_so = folder.name.lower().lstrip(".").startswith("zluda")
            if named_so or any(_ZLUDA_FILE.fullmatch(name) for name in names_in(folder)):
                yield Rocm(path=str(folder), source=source, kind="zluda")
