"""Healthy Windows environments, and the faults that tests seed into them, one at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
from winlane import Environment, Machine, standins
from winlane.cache import copy_tree
from winlane.microsoft import COMPONENTS, VC_TOOLS
from winlane.resources import WHEELS

FORK = WHEELS["triton-3.8"]
TORCH = ("2.14.1", "13.0")
GERMAN_USER = "Jürgen"


@dataclass
class Seed:
    """The things that a fault may change: the machine, the environment, the call of doctor."""

    machine: Machine
    env: Environment
    args: list[str] = field(default_factory=list)
    cwd: str = "C:\\"

    def set(self, **variables: str) -> None:
        self.machine.variables.update(variables)

    def dist(self, name: str, version: str, **more: object) -> None:
        standins.distribution(self.env, name, version, **more)  # type: ignore[arg-type]

    def torch(self, version: str, cuda: str) -> None:
        for old in self.env.site_packages.glob("torch-*"):
            shutil.rmtree(old)
        standins.cuda_torch(self.env, self.machine.fakes, version, cuda)

    def delete(self, *paths: str) -> None:
        """Delete files or folders below site-packages (`triton/...`) or below the home."""
        for path in paths:
            root = self.env.site_packages if path.startswith("triton") else self.env.home
            there = root / path
            shutil.rmtree(there) if there.is_dir() else there.unlink()

    def dll(self, *imports: str) -> bytes:
        """A small valid extension module that needs these DLLs."""
        wanted = dict.fromkeys(imports, ("lane_function",))
        return self.machine.fakes.build_dll("lane_module.pyd", imports=wanted).read_bytes()


F = TypeVar("F", bound="Fault")


@dataclass(frozen=True)
class Fault:
    """`problem` must be the first that doctor names, and `names` stand in its evidence."""

    problem: str
    names: str
    seed: Callable[[Seed], object]
    kind: str = "full"
    version: str = "3.12"
    triton: str | None = FORK
    more: tuple[str, ...] = ()
    torch: tuple[str, str] | None = TORCH
    gpu: str = "8.9"
    where: str | None = None

    @property
    def name(self) -> str:
        return f"{self.problem}: {self.names}"


def one_an_id(faults: Sequence[F]) -> list[ParameterSet]:
    """The first fault of each problem for every run; the further ones belong to `--full`."""
    seen: set[str] = set()
    params = []
    for fault in faults:
        marks = [pytest.mark.full] if fault.problem in seen else []
        seen.add(fault.problem)
        params.append(pytest.param(fault, id=fault.name, marks=marks))
    return params


def prepare(machine: Machine, fault: Fault) -> Seed:
    """The healthy environment that the fault is seeded into."""
    packages = (*([fault.triton] if fault.triton else []), *fault.more)
    env = machine.environment(fault.version, fault.kind, packages, fault.where)
    if fault.kind == "comfyui":
        give_development(machine, env)
    if fault.torch:
        standins.cuda_torch(env, machine.fakes, *fault.torch)
    machine.gpu(fault.gpu)
    return Seed(machine, env)


def give_development(machine: Machine, env: Environment, version: str | None = None) -> None:
    """Headers and libs of a full Python, put into an embedded one as its users do."""
    full = machine.environment(version or env.version, "full")
    for folder in ("Include", "libs"):
        shutil.rmtree(env.home / folder, ignore_errors=True)
        copy_tree(full.home / folder, env.home / folder)


def _other_minor(seed: Seed) -> None:
    give_development(seed.machine, seed.env, "3.11")
    libs = seed.env.home / "libs"
    shutil.copy(libs / "python311.lib", libs / "python312.lib")


def _foreign_library(seed: Seed) -> None:
    other = seed.machine.environment("3.11", "full").home / "libs" / "python311.lib"
    seed.env.replace("libs/python312.lib", other.read_bytes())


def _old_runtime(seed: Seed) -> None:
    for dll in seed.env.site_packages.glob("*140*.dll"):
        seed.env.replace(dll.name, dll.read_bytes())


def _upstream_over_fork(seed: Seed) -> None:
    """Upstream has no Windows wheel: its record and the decisive line of its driver stand in."""
    seed.dist(
        "triton",
        "3.8.0",
        files={
            "triton/backends/nvidia/driver.py": (
                "libs = subprocess.check_output(['/sbin/ldconfig', '-p']).decode(errors='ignore')\n"
            )
        },
    )


def _per_user(seed: Seed) -> None:
    """`pip install --user`: what pip does where site-packages refuses writes."""
    profile = seed.machine.home("Ada")
    minor = seed.env.version.replace(".", "")
    place = rf"{profile}\AppData\Roaming\Python\Python{minor}\site-packages"
    there = seed.machine.place(place, None)
    for each in [*seed.env.site_packages.glob("triton*")]:
        each.rename(there / each.name)


def _on_path(seed: Seed) -> None:
    other = seed.machine.environment("3.11", "full", [FORK])
    seed.machine.path_entries.append(other.win(other.home))


def _blocked_cache(seed: Seed) -> None:
    """A folder whose permissions refuse writes cannot be made under Wine; a file in its place."""
    seed.machine.place(r"C:\blocked", "in the way")
    seed.set(TRITON_CACHE_DIR=r"C:\blocked\cache")


def _stale_helper(seed: Seed) -> None:
    seed.set(TRITON_CACHE_DIR=r"C:\cache")
    entry = "C:\\cache\\" + "AB2" * 17 + "A"
    module = rf"{entry}\cuda_utils.cp312-win_amd64.pyd"
    seed.machine.place(module, seed.dll("python310.dll"))


def _work(seed: Seed, name: str) -> None:
    seed.machine.place(rf"C:\work\{name}", "")
    seed.cwd = r"C:\work"


def _bare_studio(seed: Seed) -> None:
    seed.machine.visual_studio()


def _cl(seed: Seed) -> None:
    studio = seed.machine.visual_studio()
    seed.machine.windows_sdk()
    seed.set(CC=rf"{studio.tools}\bin\Hostx64\x64\cl.exe")


def _german_studio(seed: Seed) -> None:
    seed.machine.visual_studio(english=False)
    seed.machine.windows_sdk()


def _without_tools(seed: Seed) -> None:
    seed.machine.visual_studio(components=[c for c in COMPONENTS if c != VC_TOOLS])
    seed.machine.windows_sdk()


def _cuda(seed: Seed, version: str, lacks: str | None = None) -> None:
    toolkit = seed.machine.cuda_toolkit("system", version)
    if lacks:
        seed.env.path(rf"{toolkit.root}\{lacks}").unlink()
    seed.set(CUDA_PATH=toolkit.root)


def has(name: str, version: str, **more: object) -> Callable[[Seed], object]:
    """A distribution that is installed besides."""
    return lambda seed: seed.dist(name, version, **more)


def nothing(seed: Seed) -> None:
    """The environment is the fault."""


FAULTS = (
    # Python's headers and import library
    Fault("python-libs-not-found-venv-uv", "import library", lambda s: s.delete("libs")),
    Fault("python-libs-not-found-venv-uv", "Python.h", lambda s: s.delete("Include")),
    Fault(
        "python-libs-not-found-venv-uv",
        "Python312",
        lambda s: shutil.rmtree(s.env.base.home / "libs"),
        kind="venv",
    ),
    Fault(
        "embedded-python-no-headers",
        "Python.h",
        lambda s: s.delete("libs", "Include"),
        kind="comfyui",
    ),
    Fault("embedded-python-no-headers", "Python.h", nothing, kind="bare", triton=FORK),
    Fault("python-headers-wrong-set", "3.11", _other_minor, kind="comfyui"),
    Fault("python-headers-wrong-set", "pyconfig.h", lambda s: s.delete("Include/pyconfig.h")),
    Fault("python-headers-wrong-set", "object.h", lambda s: s.env.replace("Include/object.h", b"")),
    Fault("python-headers-wrong-set", "python311.dll", _foreign_library),
    # DLLs
    Fault(
        "vcredist-too-old-beside-python",
        "14.29",
        _old_runtime,
        version="3.10",
        more=("msvc-runtime==14.29.30133",),
    ),
    Fault("stale-helper-module", "python310.dll", _stale_helper),
    Fault(
        "app-control-blocks-dll",
        "Smart App Control",
        lambda s: s.machine.registry.set(
            r"HKLM\SYSTEM\CurrentControlSet\Control\CI\Policy",
            "VerifiedAndReputablePolicyState",
            1,
            "REG_DWORD",
        ),
    ),
    # which Triton, which torch
    Fault("triton-missing", "site-packages", nothing, triton=None),
    Fault("wrong-interpreter", "Python311", _on_path, triton=None),
    Fault("triton-files-missing", "libtriton", lambda s: s.delete("triton/_C/libtriton.pyd")),
    Fault(
        "triton-files-missing",
        "cut short",
        lambda s: s.env.replace(s.env.site_packages / "triton/_C/libtriton.pyd", b"MZ"),
    ),
    Fault("triton-files-missing", "__init__.py", lambda s: s.delete("triton/__init__.py")),
    Fault("triton-files-missing", "__init__.py", lambda s: s.delete("triton")),
    Fault("triton-and-fork-both-installed", "triton 3.8.0", _upstream_over_fork),
    Fault(
        "triton-patch-incomplete",
        "dlfcn",
        lambda s: s.env.replace(
            s.env.site_packages / "triton/backends/nvidia/driver.c",
            b"#include <dlfcn.h>\nvoid *f(void) { return dlopen(0, 1); }\n",
        ),
    ),
    Fault("triton-too-old", "3.5.1", nothing, triton=WHEELS["triton-3.5"]),
    Fault("triton-too-new-for-torch", "3.8.0", lambda s: s.torch("2.9.1", "12.8")),
    Fault("no-triton-for-torch-yet", "3.9", lambda s: s.torch("2.15.0", "13.2")),
    Fault(
        "cpu-only-torch",
        "2.9.1+cpu",
        nothing,
        triton=WHEELS["triton-3.5"],
        torch=None,
        more=(WHEELS["torch-cpu"],),
    ),
    Fault("update-replaced-torch", "2.13.0", has("torch", "2.13.0+cu130")),
    Fault("script-shadows-triton", r"C:\work\triton.py", lambda s: _work(s, "triton.py")),
    Fault("script-shadows-triton", r"C:\work\triton", lambda s: _work(s, r"triton\__init__.py")),
    Fault("old-setuptools", "65.5.0", has("setuptools", "65.5.0", tag="py3-none-any")),
    Fault("wheel-tag-unsupported", "cp311", has("torchao", "0.14.0", tag="cp311-cp311-win_amd64")),
    Fault(
        "stale-package-needs-triton-ops",
        "0.43.1",
        lambda s: s.dist(
            "bitsandbytes",
            "0.43.1",
            tag="py3-none-win_amd64",
            files={"bitsandbytes/libbitsandbytes_cuda130.dll": s.dll("KERNEL32.dll")},
        ),
    ),
    Fault(
        "bnb-without-windows-binaries", "0.45.5", has("bitsandbytes", "0.45.5", tag="py3-none-any")
    ),
    Fault(
        "xformers-torch-mismatch", "2.9.1", has("xformers", "0.0.33", requires=("torch==2.9.1",))
    ),
    Fault("flash-wheel-torch-mismatch", "torch2.9", has("flash-attn", "2.8.3+cu130torch2.9.0")),
    Fault(
        "sage-wheel-torch-mismatch",
        "torch2.7.1",
        lambda s: s.dist(
            "sageattention",
            "2.2.0+cu128torch2.7.1.post3",
            files={"sageattention/_qattn_sm89.pyd": s.dll("KERNEL32.dll")},
        ),
    ),
    Fault("sage-kernels-not-loaded", "2.2.0", has("sageattention", "2.2.0")),
    # GPU and driver
    Fault("gpu-generation-unsupported", "6.1", nothing, gpu="6.1"),
    Fault("gpu-generation-unsupported", "7.5", nothing, gpu="7.5"),
    Fault(
        "gpu-generation-unsupported",
        ">=3.3",
        nothing,
        gpu="12.0",
        triton=WHEELS["triton-3.2"],
        torch=("2.6.0", "12.4"),
    ),
    Fault("driver-too-old", "nvcuda", lambda s: s.machine.no_gpu()),
    Fault("driver-too-old", "12.8", lambda s: s.machine.gpu(driver="572.83", cuda="12.8")),
    # compilers
    Fault("cc-and-toolchain-absent", "TinyCC", lambda s: s.delete("triton/runtime/tcc")),
    Fault("cc-and-toolchain-absent", r"Roaming\Python", _per_user),
    Fault("cc-variable-wrong", "folder", lambda s: s.set(CC=r"C:\windows")),
    Fault("cc-variable-wrong", "semicolon", lambda s: s.set(CC=r"C:\windows\notepad.exe;")),
    Fault("cc-variable-wrong", "no such program", lambda s: s.set(CC=r"C:\gone\gcc.exe")),
    Fault("cc-variable-wrong", "INCLUDE", _cl),
    Fault(
        "path-with-spaces-unquoted",
        r"C:\Program Files",
        lambda s: s.set(CL=r"/IC:\Program Files\lib\include /O2"),
    ),
    Fault(
        "msvc-env-not-initialised",
        "WindowsSDKVersion",
        lambda s: s.set(WindowsSdkDir=r"C:\Program Files (x86)\Windows Kits\10"),
    ),
    Fault("x86-toolchain", "VSCMD_ARG_TGT_ARCH", lambda s: s.set(VSCMD_ARG_TGT_ARCH="x86")),
    Fault("vs-components-missing", "Windows SDK", _bare_studio),
    Fault("msvc-localised-output", "English", _german_studio),
    # CUDA tools
    Fault("ptxas-not-found", "ptxas", lambda s: s.delete("triton/backends/nvidia/bin")),
    Fault("cuda-path-wrong", "11.8", lambda s: _cuda(s, "11.8")),
    Fault("cuda-path-wrong", "does not exist", lambda s: s.set(CUDA_PATH=r"C:\CUDA\v12.8")),
    Fault("cuda-path-wrong", "cuda.h", lambda s: _cuda(s, "12.9", r"include\cuda.h")),
    Fault("ptxas-older-than-ptx", "12.4", lambda s: _cuda(s, "12.4")),
    Fault(
        "ptxas-path-variable-ignored",
        "TRITON_PTXAS_PATH",
        lambda s: s.set(TRITON_PTXAS_PATH=r"C:\cuda\ptxas.exe"),
    ),
    # variables, caches, run time
    Fault("build-variable-blanks", "NVCC_THREADS", lambda s: s.set(NVCC_THREADS="1 ")),
    Fault("build-resource-limits", "MAX_JOBS", lambda s: s.set(MAX_JOBS="64")),
    Fault("triton-home-not-writable", r"C:\blocked", _blocked_cache),
    Fault(
        "triton-variable-not-ascii",
        "TRITON_CACHE_DIR (process)",
        lambda s: s.set(TRITON_CACHE_DIR=rf"C:\{GERMAN_USER}"),
    ),
    Fault(
        "tinycc-path-letters",
        "\u6a21\u578b",
        nothing,
        kind="comfyui",
        where="C:\\lane\\env\\\u6a21\u578b",
    ),
    Fault(
        "max-path-260",
        "inductor",
        lambda s: s.set(TORCHINDUCTOR_CACHE_DIR="C:\\" + r"a_rather_long_name" * 7),
    ),
    Fault("mixed-environments", r"C:\venv", lambda s: s.set(VIRTUAL_ENV=r"C:\venv"), "comfyui"),
)

HEALTHY = (
    # kind, Python, GPU, user
    ("full", "3.10", "8.6", None),
    ("full", "3.11", "9.0", None),
    ("full", "3.12", "12.0", None),
    ("full", "3.13", "8.9", None),
    ("comfyui", "3.12", "8.6", GERMAN_USER),
    ("comfyui", "3.13", "12.0", None),
    ("venv", "3.12", "9.0", None),
    ("conda", "3.11", "8.6", None),
)
