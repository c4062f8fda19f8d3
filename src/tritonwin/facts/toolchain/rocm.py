"""AMD's ROCm in its three forms on Windows: the HIP SDK, the `rocm_sdk` wheels, and ZLUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

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
_ZLUDA_FOLDERS = ("zluda", ".zluda", "ZLUDA")


def find_rocm(target: Interpreter | None, host: Host) -> tuple[Rocm, ...]:
    """List what could run HIP or pretend to be CUDA: wheels, SDKs, ZLUDA.

    triton-windows' `find_hip()` asks the package `rocm_sdk` and looks nowhere else. SDKs are
    looked for by ROCM_PATH and HIP_PATH, then in Program Files\\AMD\\ROCm, %SystemDrive%\\ROCm
    and /opt/rocm. ZLUDA is a folder that holds both the CUDA driver's name (nvcuda.dll) and files
    of ZLUDA: by the variable ZLUDA (SD.Next's), in or below the application's and the current
    folder, or on PATH.
    """
    found = [*_wheels(target), *_sdks(host), *_zluda(host)]
    unique: dict[str, Rocm] = {}
    for rocm in found:
        unique.setdefault(same_place(Path(rocm.path)), rocm)
    return tuple(unique.values())


def _wheels(target: Interpreter | None) -> Iterator[Rocm]:
    for folder in map(Path, target.site_packages if target else ()):
        core = folder / "_rocm_sdk_core"
        if not is_folder(core):
            continue
        libraries = (*names_in(core / "bin"), *names_in(core / "lib"))
        missing = [] if any("amdhip64" in name.lower() for name in libraries) else ["amdhip64"]
        if not is_folder(folder / "rocm_sdk"):
            missing.append("rocm_sdk")
        yield Rocm(
            path=str(core),
            source="site-packages",
            kind="rocm-wheels",
            missing=tuple(missing),
        )


def _sdks(host: Host) -> Iterator[Rocm]:
    for path, source in _sdk_folders(host):
        if is_folder(path):
            yield Rocm(
                path=str(path),
                source=source,
                kind="hip-sdk",
                missing=tuple(
                    part for part, where in _SDK_PARTS.items() if not first_file(path, where)
                ),
            )


def _sdk_folders(host: Host) -> Iterator[tuple[Path, str]]:
    for name in ("ROCM_PATH", "HIP_PATH"):
        folder = host.env.folder(name)
        if folder:
            yield folder, f"variable {name}"
    if not host.windows:
        yield Path("/opt/rocm"), "/opt"
        return
    for root in host.program_files():
        parent = root / "AMD" / "ROCm"
        for name in sorted(names_in(parent), key=version_key, reverse=True):
            yield parent / name, "Program Files"
    drive = host.env.get("SystemDrive") or "C:"
    yield Path(f"{drive}/ROCm"), "system drive"


def _zluda(host: Host) -> Iterator[Rocm]:
    for folder, source in _zluda_folders(host):
        if not first_file(folder, ("nvcuda.dll", "libcuda.so", "libcuda.so.1")):
            continue
        named_so = folder.name.lower().lstrip(".").startswith("zluda")
        if named_so or any(_ZLUDA_FILE.fullmatch(name) for name in names_in(folder)):
            yield Rocm(
                path=str(folder),
                source=source,
                kind="zluda",
            )


def _zluda_folders(host: Host) -> Iterator[tuple[Path, str]]:
    named = host.env.folder("ZLUDA")
    if named:
        yield named, "variable ZLUDA"
    for root, source in ((host.app, "application folder"), (host.cwd, "current folder")):
        if root:
            yield root, source
            for name in _ZLUDA_FOLDERS:
                yield root / name, source
    for entry in host.env.path_entries():
        yield entry, "PATH"
