"""CUDA toolkits in each layout that real ones have; their programs only say a version.

Layouts: `system` (NVIDIA's installer), `conda` (<env>\\Library), `pip-cu12` and `pip-cu13`
(NVIDIA's wheels in site-packages; the cu12 wheels carry ptxas but no nvcc).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winlane.environment import Environment
from winlane.errors import LaneError

if TYPE_CHECKING:
    from winlane.machine import Machine

# Newest patch level known for a toolkit; nvcc prints it as V12.8.93, made up for others.
_BUILDS = {"11.8": "89", "12.4": "131", "12.6": "85", "12.8": "93", "12.9": "86", "13.0": "88"}
# Which versions of cl.exe host_config.h lets through, by the toolkit's major version.
_MSC_LIMITS = {11: (1910, 1940), 12: (1910, 1950), 13: (1920, 1950)}
# From 13.2 on, Visual Studio 2026 is accepted too.
_MSC_LIMIT_OF_13_2 = 1960
_TITLES = {"nvcc": "Cuda compiler driver", "ptxas": "Ptx optimizing assembler"}
_SYSTEM = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA"


@dataclass(frozen=True)
class Layout:
    """Folders below the root, and programs with theirs; `runtime` is cudart's, "" for none."""

    programs: tuple[str, ...]
    headers: str = "include"
    libraries: str = r"lib\x64"
    libdevice: str = ""
    runtime: str = ""


LAYOUTS = {
    "system": Layout(
        (*(rf"bin\{n}" for n in ("nvcc", "ptxas", "cuobjdump", "nvdisasm", "fatbinary")),
         r"nvvm\bin\cicc"),
        libdevice=r"nvvm\libdevice", runtime="bin",
    ),
    # conda-forge's packages put lib files without a folder for the architecture
    "conda": Layout((r"bin\nvcc", r"bin\ptxas"), libraries="lib", libdevice=r"nvvm\libdevice"),
    "pip-cu12": Layout(
        (r"cuda_nvcc\bin\ptxas",), r"cuda_runtime\include", r"cuda_runtime\lib\x64",
        r"cuda_nvcc\nvvm\libdevice", r"cuda_runtime\bin",
    ),
    "pip-cu13": Layout(
        tuple(rf"bin\{n}" for n in ("nvcc", "ptxas", "fatbinary", "nvlink")),
        runtime=r"bin\x86_64",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Toolkit:
    """`root` is what CUDA_PATH would name."""

    layout: str
    version: str
    root: str


def install(
    host: Machine,
    layout: str = "system",
    version: str = "12.8",
    environment: Environment | None = None,
    root: str | None = None,
) -> Toolkit:
    """`environment` for the layouts pip-cu12, pip-cu13 and conda; sets no variable."""
    if layout not in LAYOUTS:
        raise LaneError(f"no layout {layout!r}; there are {', '.join(LAYOUTS)}")
    if layout == "system":
        root = root or rf"{_SYSTEM}\v{version}"
    elif environment is None:
        raise LaneError(f"the layout {layout!r} lies in an environment: pass environment=")
    else:
        nvidia = environment.site_packages / "nvidia"
        library = environment.home / "Library"
        places = {"conda": library, "pip-cu12": nvidia, "pip-cu13": nvidia / "cu13"}
        root = environment.win(places[layout])
    folders = LAYOUTS[layout]
    major, minor = map(int, version.split("."))
    full = f"{version}.{_BUILDS.get(version, '50')}"

    def put(path: str, content: bytes | str) -> None:
        host.place(rf"{root}\{path}", content)

    for program in folders.programs:
        name = program.rpartition("\\")[2]
        put(rf"{program}.exe", host.fakes.tool().read_bytes())
        put(
            rf"{program}.exe.--version.out",
            f"{name}: NVIDIA (R) {_TITLES.get(name, name)}\r\n"
            "Copyright (c) 2005-2025 NVIDIA Corporation\r\n"
            f"Cuda compilation tools, release {version}, V{full}\r\n"
            f"Build cuda_{version}.r{version}/compiler.0_0\r\n",
        )
    low, high = _MSC_LIMITS.get(major, (1910, 1960))
    if (major, minor) >= (13, 2):
        high = _MSC_LIMIT_OF_13_2
    put(rf"{folders.headers}\cuda.h", f"#define CUDA_VERSION {major * 1000 + minor * 10}\n")
    put(rf"{folders.headers}\cuda_runtime.h", "/* stand-in */\n")
    put(
        rf"{folders.headers}\crt\host_config.h",
        f"#if _MSC_VER < {low} || _MSC_VER >= {high}\n"
        "#error -- unsupported Microsoft Visual Studio version! Only the versions"
        " between 2017 and 2022 (inclusive) are supported!\n#endif\n",
    )
    for name in ("cuda.lib", "cudart.lib"):
        put(rf"{folders.libraries}\{name}", b"!<arch>\n")
    if folders.libdevice:
        put(rf"{folders.libdevice}\libdevice.10.bc", b"BC")
    if folders.runtime:
        dll = f"cudart64_{'110' if major == 11 else major}.dll"
        # CUDA 13 moved the 64-bit DLLs into a folder of their own
        below = r"\x64" if layout == "system" and major >= 13 else ""
        put(rf"{folders.runtime}{below}\{dll}", host.fakes.build_dll(dll).read_bytes())
    if layout == "system":
        parts = {name: {"name": name, "version": full} for name in ("cuda", "cuda_nvcc")}
        put("version.json", json.dumps(parts, indent=3))
    return Toolkit(layout, version, root)
