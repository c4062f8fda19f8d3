"""CUDA toolkits in each layout that real ones have; their programs only say a version.

Layouts: `system` (NVIDIA's installer), `conda` (<env>\\Library), `pip-cu12` and `pip-cu13`
(NVIDIA's wheels in site-packages; the cu12 wheels carry ptxas but no nvcc).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from winlane.environment import Environment
from winlane.errors import LaneError
from winlane.microsoft import Host

# Newest patch level known for a toolkit; nvcc prints it as V12.8.93, made up for others.
_BUILDS = {"11.8": "89", "12.4": "131", "12.6": "85", "12.8": "93", "12.9": "86", "13.0": "88"}
# Which versions of cl.exe host_config.h lets through, by the toolkit's major version.
_MSC_LIMITS = {11: (1910, 1940), 12: (1910, 1950), 13: (1920, 1950)}
# From 13.2 on, Visual Studio 2026 is accepted too.
_MSC_LIMIT_OF_13_2 = 1960


@dataclass(frozen=True)
class Toolkit:
    """`root` is what CUDA_PATH would name."""

    layout: str
    version: str
    root: str


def install(
    host: Host,
    layout: str = "system",
    version: str = "12.8",
    environment: Environment | None = None,
    root: str | None = None,
) -> Toolkit:
    """`environment` for the layouts pip-cu12, pip-cu13 and conda; sets no variable."""
    if layout == "system":
        base = rf"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v{version}"
        place = _Place(host, root or base, version)
        _system(place)
    elif environment is None:
        raise LaneError(f"the layout {layout!r} lies in an environment: pass environment=")
    elif layout == "conda":
        place = _Place(host, environment.win(environment.home / "Library"), version)
        _conda(place)
    elif layout in ("pip-cu12", "pip-cu13"):
        nvidia = environment.win(environment.site_packages / "nvidia")
        wheel_root = nvidia if layout == "pip-cu12" else rf"{nvidia}\cu13"
        place = _Place(host, wheel_root, version)
        (_pip_cu12 if layout == "pip-cu12" else _pip_cu13)(place)
    else:
        raise LaneError(f"no layout {layout!r}; there are system, conda, pip-cu12, pip-cu13")
    return Toolkit(layout, version, place.root)


@dataclass(frozen=True)
class _Place:
    host: Host
    root: str
    version: str

    @property
    def major(self) -> int:
        return int(self.version.partition(".")[0])

    @property
    def full(self) -> str:
        return f"{self.version}.{_BUILDS.get(self.version, '50')}"

    def files(self, contents: Mapping[str, bytes | str]) -> None:
        for name, content in contents.items():
            self.host.place(rf"{self.root}\{name}", content)

    def program(self, path: str) -> None:
        name = path.rpartition("\\")[2].removesuffix(".exe")
        title = {"nvcc": "Cuda compiler driver", "ptxas": "Ptx optimizing assembler"}.get(
            name, name
        )
        self.host.place(rf"{self.root}\{path}", self.host.fakes.tool())
        self.files(
            {
                rf"{path}.--version.out": f"{name}: NVIDIA (R) {title}\r\n"
                "Copyright (c) 2005-2025 NVIDIA Corporation\r\n"
                f"Cuda compilation tools, release {self.version}, V{self.full}\r\n"
                f"Build cuda_{self.version}.r{self.version}/compiler.0_0\r\n",
            }
        )

    def programs(self, folder: str, *names: str) -> None:
        for name in names:
            self.program(rf"{folder}\{name}.exe")

    def headers(self, folder: str) -> None:
        minor = int(self.version.partition(".")[2])
        low, high = _MSC_LIMITS.get(self.major, (1910, 1960))
        if (self.major, minor) >= (13, 2):
            high = _MSC_LIMIT_OF_13_2
        self.files(
            {
                rf"{folder}\cuda.h": f"#define CUDA_VERSION {self.major * 1000 + minor * 10}\n",
                rf"{folder}\cuda_runtime.h": "/* stand-in */\n",
                rf"{folder}\crt\host_config.h": (
                    f"#if _MSC_VER < {low} || _MSC_VER >= {high}\n"
                    "#error -- unsupported Microsoft Visual Studio version! Only the versions"
                    " between 2017 and 2022 (inclusive) are supported!\n#endif\n"
                ),
            }
        )

    def libraries(self, folder: str) -> None:
        for name in ("cuda.lib", "cudart.lib"):
            self.files({rf"{folder}\{name}": b"!<arch>\n"})


def _system(place: _Place) -> None:
    place.programs("bin", "nvcc", "ptxas", "cuobjdump", "nvdisasm", "fatbinary")
    place.programs(r"nvvm\bin", "cicc")
    place.headers("include")
    place.libraries(r"lib\x64")
    runtime = f"cudart64_{'110' if place.major == 11 else place.major}.dll"
    # CUDA 13 moved the 64-bit DLLs into a folder of their own
    folder = "bin" if place.major < 13 else r"bin\x64"
    parts = {name: {"name": name, "version": place.full} for name in ("cuda", "cuda_nvcc")}
    place.files(
        {
            "version.json": json.dumps(parts, indent=3),
            r"nvvm\libdevice\libdevice.10.bc": b"BC",
            rf"{folder}\{runtime}": place.host.fakes.build_dll(runtime).read_bytes(),
        }
    )


def _conda(place: _Place) -> None:
    """conda-forge's packages put lib files without a folder for the architecture."""
    place.programs("bin", "nvcc", "ptxas")
    place.headers("include")
    place.libraries("lib")
    place.files({r"nvvm\libdevice\libdevice.10.bc": b"BC"})


def _pip_cu12(place: _Place) -> None:
    place.program(r"cuda_nvcc\bin\ptxas.exe")
    place.headers(r"cuda_runtime\include")
    place.libraries(r"cuda_runtime\lib\x64")
    runtime = "cudart64_12.dll"
    place.files(
        {
            r"cuda_nvcc\nvvm\libdevice\libdevice.10.bc": b"BC",
            rf"cuda_runtime\bin\{runtime}": place.host.fakes.build_dll(runtime).read_bytes(),
        }
    )


def _pip_cu13(place: _Place) -> None:
    place.programs("bin", "nvcc", "ptxas", "fatbinary", "nvlink")
    place.headers("include")
    place.libraries(r"lib\x64")
    runtime = "cudart64_13.dll"
    place.files({rf"bin\x86_64\{runtime}": place.host.fakes.build_dll(runtime).read_bytes()})
