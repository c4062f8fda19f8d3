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
from collections.abc import Mapping, Sequence
from pathlib import Path

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


class Stream:
    cuda_stream = 0


def _driver():
    return ctypes.WinDLL("nvcuda.dll")


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


def distribution(
    environment: Environment,
    name: str,
    version: str,
    *,
    tag: str | None = None,
    requires: Sequence[str] = (),
    files: Mapping[str, bytes | str] | None = None,
    installer: str = "pip",
) -> Path:
    """Any distribution; `files` by their place in site-packages. Returns the dist-info folder."""
    info, contents = _contents(environment.version, name, version, tag, requires, files)
    contents[f"{info}/INSTALLER"] = f"{installer}\n"
    contents[f"{info}/RECORD"] = _record(info, contents)
    for place, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        environment.replace(environment.site_packages / place, data)
    return environment.site_packages / info


def wheel(
    folder: Path,
    python: str,
    name: str,
    version: str,
    *,
    tag: str | None = None,
    requires: Sequence[str] = (),
    files: Mapping[str, bytes | str] | None = None,
) -> Path:
    """The same as a wheel for Python "3.12", for indexes on the local disk."""
    info, contents = _contents(python, name, version, tag, requires, files)
    contents[f"{info}/RECORD"] = _record(info, contents)
    tags = tag or _own_tag(python)
    file = folder / f"{info.removesuffix('.dist-info')}-{tags}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for place, content in contents.items():
            archive.writestr(place, content)
    return file


def _own_tag(python: str) -> str:
    compact = python.replace(".", "")
    return f"cp{compact}-cp{compact}-win_amd64"


def _contents(
    python: str,
    name: str,
    version: str,
    tag: str | None,
    requires: Sequence[str],
    files: Mapping[str, bytes | str] | None,
) -> tuple[str, dict[str, bytes | str]]:
    """The dist-info folder's name, and every file but RECORD and INSTALLER."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {each}\n" for each in requires)
    return info, {
        **(files or {}),
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: winlane stand-in\nRoot-Is-Purelib: false\n"
        f"Tag: {tag or _own_tag(python)}\n",
    }


def _record(info: str, contents: Mapping[str, bytes | str]) -> str:
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for place, content in contents.items():
        data = content.encode() if isinstance(content, str) else content
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        rows.writerow([place, f"sha256={digest}", len(data)])
    rows.writerow([f"{info}/RECORD", "", ""])
    return record.getvalue()


def cuda_torch(
    environment: Environment, fakes: Fakes, version: str, cuda: str, triton: str | None = None
) -> Path:
    """torch VERSION+cuXXX. `triton` is the specifier it asks for ("==3.5.1"), from torch's own
    metadata when left out."""
    label, requires, files = _cuda_torch(fakes, version, cuda, triton)
    return distribution(environment, "torch", label, requires=requires, files=files)


def cuda_torch_wheel(folder: Path, python: str, fakes: Fakes, version: str, cuda: str) -> Path:
    """The same as a wheel."""
    label, requires, files = _cuda_torch(fakes, version, cuda, None)
    return wheel(folder, python, "torch", label, requires=requires, files=files)


def _cuda_torch(
    fakes: Fakes, version: str, cuda: str, triton: str | None
) -> tuple[str, tuple[str, ...], dict[str, bytes | str]]:
    """Version with its label, requirements and files."""
    if triton is None:
        series = ".".join(version.split(".")[:2])
        triton = TRITON_OF_TORCH.get(version) or TRITON_OF_TORCH.get(series)
        if triton is None:
            raise LaneError(f"which Triton torch {version} asks for is not known: pass triton=")
    label = f"{version}+cu{cuda.replace('.', '')}"
    major = int(cuda.partition(".")[0])
    files: dict[str, bytes | str] = {
        "torch/__init__.py": _TORCH,
        "torch/_C.py": _TORCH_C,
        "torch/cuda/__init__.py": _TORCH_CUDA,
        "torch/version.py": (
            f"__version__ = '{label}'\ndebug = False\ncuda = '{cuda}'\ngit_version = '{'0' * 40}'\n"
            "hip = None\nxpu = None\n"
        ),
    }
    for name in (*_TORCH_DLLS, *_CUDA_DLLS[major]):
        files[f"torch/lib/{name}"] = fakes.build_dll(name).read_bytes()
    requires = (
        "filelock",
        "typing-extensions>=4.10.0",
        'setuptools; python_version >= "3.12"',
        "sympy>=1.13.3",
        f'triton{triton}; platform_system == "Linux" and platform_machine == "x86_64"',
    )
    return label, requires, files


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
    *,
    clang: bool = True,
    devel: bool = False,
) -> None:
    """torch VERSION+rocmROCM with torchvision, in AMD's parts for a chip, and the rocm packages."""
    for name, (label, requires, files) in _rocm_set(chip, version, rocm).items():
        distribution(environment, name, label, requires=requires, files=files)
    core = environment.site_packages / "_rocm_sdk_core"
    environment.replace(core / "bin" / "amdhip64_7.dll", fakes.amdhip64().read_bytes())
    if clang:
        program = core / "lib" / "llvm" / "bin" / "clang-cl.exe"
        environment.replace(program, fakes.tool().read_bytes())
    if devel:
        distribution(environment, "rocm-sdk-devel", rocm)


def rocm_torch_wheels(
    folder: Path, python: str, chip: str, version: str = "2.12.0", rocm: str = "7.13.0"
) -> None:
    """The same as wheels, without what makes it load: for indexes on the local disk."""
    for name, (label, requires, files) in _rocm_set(chip, version, rocm).items():
        wheel(folder, python, name, label, requires=requires, files=files)


def _rocm_set(
    chip: str, version: str, rocm: str
) -> dict[str, tuple[str, tuple[str, ...], dict[str, bytes | str]]]:
    label, vision = f"{version}+rocm{rocm}", f"0.27.0+rocm{rocm}"
    extra = f'extra == "device-{chip}"'
    files: dict[str, bytes | str] = {
        "torch/__init__.py": _TORCH,
        "torch/_C.py": _TORCH_C,
        "torch/cuda/__init__.py": _TORCH_HIP,
        "torch/version.py": (
            f"__version__ = '{label}'\ndebug = False\ncuda = None\ngit_version = '{'0' * 40}'\n"
            f"hip = '{rocm}'\nxpu = None\n"
        ),
    }
    part = f"amd-torch-device-{chip}"
    return {
        "torch": (label, (f"rocm[libraries]=={rocm}", f"{part}=={label}; {extra}"), files),
        part: (label, (), {}),
        "torchvision": (vision, (f"torch=={label}",), {"torchvision/__init__.py": ""}),
        "rocm": (rocm, (), {"rocm_sdk/__init__.py": _ROCM_SDK.format(rocm=rocm)}),
        "rocm-sdk-core": (rocm, (), {}),
        f"rocm-sdk-device-{chip}": (rocm, (), {}),
    }
