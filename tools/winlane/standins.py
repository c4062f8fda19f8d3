"""Distributions that stand in for ones not to be had: CUDA builds of torch, flash-attn, and others.

They are installed as pip would leave them (dist-info with METADATA, WHEEL, RECORD) and hold just
enough for finders, importers and Triton's driver detection. None of them computes anything.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winlane.environment import Environment
from winlane.errors import LaneError
from winlane.fakes import Fakes
from winlane.resources import TRITON_OF_TORCH

_TORCH = '''\
"""A stand-in for torch: what Triton's driver detection asks, answered from nvcuda.dll."""

from torch.version import __version__
from torch import _C, cuda, version
'''
_TORCH_CUDA = """\
import ctypes
import os


class Stream:
    cuda_stream = 0


def _driver():
    return ctypes.WinDLL("nvcuda.dll") if os.name == "nt" else ctypes.CDLL("libcuda.so.1")


def is_available():
    try:
        return _driver().cuInit(0) == 0
    except OSError:
        return False


def device_count():
    count = ctypes.c_int()
    if is_available():
        _driver().cuDeviceGetCount(ctypes.byref(count))
    return count.value


def get_device_capability(device=0):
    major, minor = ctypes.c_int(), ctypes.c_int()
    _driver().cuDeviceComputeCapability(ctypes.byref(major), ctypes.byref(minor), 0)
    return major.value, minor.value


def get_device_name(device=0):
    name = ctypes.create_string_buffer(128)
    _driver().cuDeviceGetName(name, 128, 0)
    return name.value.decode()


def current_device():
    return 0


def set_device(device):
    pass


def current_stream(device=None):
    return Stream()
"""
_TORCH_C = "def _cuda_getCurrentRawStream(device):\n    return 0\n"
# cudart, cuDNN and cuBLAS as torch's Windows wheels name them, by CUDA's major version
_CUDA_DLLS = {
    11: ("cudart64_110.dll", "cublas64_11.dll", "cudnn64_8.dll", "nvrtc64_112_0.dll"),
    12: ("cudart64_12.dll", "cublas64_12.dll", "cudnn64_9.dll", "nvrtc64_120_0.dll"),
    13: ("cudart64_13.dll", "cublas64_13.dll", "cudnn64_9.dll", "nvrtc64_130_0.dll"),
}
_TORCH_DLLS = ("c10.dll", "c10_cuda.dll", "torch_cpu.dll", "torch_cuda.dll", "torch_python.dll")


@dataclass(frozen=True)
class StandIn:
    """A distribution; `files` by their place in site-packages, `tag` of the Python if None."""

    name: str
    version: str
    tag: str | None = None
    requires: tuple[str, ...] = ()
    files: Mapping[str, bytes | str] = field(default_factory=dict)
    installer: str = "pip"

    @property
    def stem(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def info(self) -> str:
        return f"{self.stem}.dist-info"

    def install(self, environment: Environment) -> Path:
        """As the installer leaves it; the dist-info folder."""
        contents = self._contents(environment.version)
        contents[f"{self.info}/INSTALLER"] = f"{self.installer}\n".encode()
        contents[f"{self.info}/RECORD"] = self._record(contents)
        for place, content in contents.items():
            environment.replace(environment.site_packages / place, content)
        return environment.site_packages / self.info

    def wheel(self, folder: Path, python: str) -> Path:
        """The same as a wheel for Python "3.12", for indexes on the local disk."""
        contents = self._contents(python)
        contents[f"{self.info}/RECORD"] = self._record(contents)
        file = folder / f"{self.stem}-{self._tag(python)}.whl"
        with zipfile.ZipFile(file, "w") as archive:
            for place, content in contents.items():
                archive.writestr(place, content)
        return file

    def _tag(self, python: str) -> str:
        compact = python.replace(".", "")
        return self.tag or f"cp{compact}-cp{compact}-win_amd64"

    def _contents(self, python: str) -> dict[str, bytes]:
        """Every file but RECORD and INSTALLER."""
        metadata = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"
        metadata += "".join(f"Requires-Dist: {each}\n" for each in self.requires)
        texts = {
            **self.files,
            f"{self.info}/METADATA": metadata,
            f"{self.info}/WHEEL": "Wheel-Version: 1.0\nGenerator: winlane stand-in\n"
            f"Root-Is-Purelib: false\nTag: {self._tag(python)}\n",
        }
        return {p: t.encode() if isinstance(t, str) else t for p, t in texts.items()}

    def _record(self, contents: Mapping[str, bytes]) -> bytes:
        record = io.StringIO()
        rows = csv.writer(record, lineterminator="\n")
        for place, content in contents.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            rows.writerow([place, f"sha256={digest.rstrip('=')}", len(content)])
        rows.writerow([f"{self.info}/RECORD", "", ""])
        return record.getvalue().encode()


def distribution(environment: Environment, name: str, version: str, **more: Any) -> Path:
    """Install any StandIn; the dist-info folder."""
    return StandIn(name, version, **more).install(environment)


def wheel(folder: Path, python: str, name: str, version: str, **more: Any) -> Path:
    return StandIn(name, version, **more).wheel(folder, python)


def cuda_torch(environment: Environment, *about: Any, **more: Any) -> Path:
    """Install the torch that `torch_for_cuda` describes."""
    return torch_for_cuda(*about, **more).install(environment)


def cuda_torch_wheel(folder: Path, python: str, *about: Any) -> Path:
    return torch_for_cuda(*about).wheel(folder, python)


def torch_for_cuda(fakes: Fakes, version: str, cuda: str, triton: str | None = None) -> StandIn:
    """torch VERSION+cuXXX. `triton` is the specifier it asks for ("==3.5.1"), from torch's own
    metadata when left out."""
    if triton is None:
        series = ".".join(version.split(".")[:2])
        triton = TRITON_OF_TORCH.get(version) or TRITON_OF_TORCH.get(series)
        if triton is None:
            raise LaneError(f"which Triton torch {version} asks for is not known: pass triton=")
    label = f"{version}+cu{cuda.replace('.', '')}"
    dlls = (*_TORCH_DLLS, *_CUDA_DLLS[int(cuda.partition(".")[0])])
    files = torch_files(label, cuda=cuda)
    requires = (
        "filelock",
        "typing-extensions>=4.10.0",
        'setuptools; python_version >= "3.12"',
        "sympy>=1.13.3",
        f'triton{triton}; platform_system == "Linux" and platform_machine == "x86_64"',
    )
    libraries = {f"torch/lib/{name}": fakes.build_dll(name).read_bytes() for name in dlls}
    return StandIn("torch", label, requires=requires, files={**files, **libraries})


def torch_files(label: str, code: str = _TORCH_CUDA, **platform: str) -> dict[str, str]:
    """`code` is that of torch.cuda; `platform` the version of "cuda" or "hip"."""
    known = {"debug": False, "cuda": None, "git_version": "0" * 40, "hip": None, "xpu": None}
    version = {"__version__": label, **known, **platform}
    return {
        "torch/__init__.py": _TORCH,
        "torch/_C.py": _TORCH_C,
        "torch/cuda/__init__.py": code,
        "torch/version.py": "".join(f"{name} = {value!r}\n" for name, value in version.items()),
    }


# What Triton's driver for AMD asks of torch, and torch of the rocm packages.
_TORCH_HIP = _TORCH_CUDA.replace("nvcuda.dll", "amdhip64_7.dll").replace("cuInit", "hipInit")
_ROCM_SDK = """\
from pathlib import Path

__version__ = "{rocm}"


def find_libraries(*names):
    core = Path(__file__).resolve().parents[1] / "_rocm_sdk_core" / "bin"
    return [next(core.glob(name + "*.dll")) for name in names]
"""


def rocm_torch(
    environment: Environment,
    fakes: Fakes,
    chip: str,
    version: str = "2.12.0",
    rocm: str = "7.13.0",
) -> None:
    """torch VERSION+rocmROCM with torchvision, in AMD's parts for a chip, and the rocm packages."""
    for each in _rocm_set(chip, version, rocm):
        each.install(environment)
    core = environment.site_packages / "_rocm_sdk_core"
    environment.replace(core / "bin" / "amdhip64_7.dll", fakes.amdhip64().read_bytes())
    program = core / "lib" / "llvm" / "bin" / "clang-cl.exe"
    environment.replace(program, fakes.tool().read_bytes())


def rocm_torch_wheels(
    folder: Path, python: str, chip: str, version: str = "2.12.0", rocm: str = "7.13.0"
) -> None:
    """The same as wheels, without what makes it load: for indexes on the local disk."""
    for each in _rocm_set(chip, version, rocm):
        each.wheel(folder, python)


def _rocm_set(chip: str, version: str, rocm: str) -> tuple[StandIn, ...]:
    label, part = f"{version}+rocm{rocm}", f"amd-torch-device-{chip}"
    requires = (f"rocm[libraries]=={rocm}", f'{part}=={label}; extra == "device-{chip}"')
    return (
        StandIn("torch", label, None, requires, torch_files(label, _TORCH_HIP, hip=rocm)),
        StandIn(part, label),
        StandIn("torchvision", f"0.27.0+rocm{rocm}", None, (f"torch=={label}",),
                {"torchvision/__init__.py": ""}),
        StandIn("rocm", rocm, files={"rocm_sdk/__init__.py": _ROCM_SDK.format(rocm=rocm)}),
        StandIn("rocm-sdk-core", rocm),
        StandIn(f"rocm-sdk-device-{chip}", rocm),
    )  # fmt: skip
