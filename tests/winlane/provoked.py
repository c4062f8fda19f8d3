"""Failures provoked for real: an environment broken in one way, and a real program run in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from faults import Fault, Seed, give_development
from winlane import Machine, Result
from winlane.packages import Packages
from winlane.resources import WHEELS

PROGRAMS = Path(__file__).parent / "programs"
WORK = r"C:\work"
DRIVER_C = "triton/backends/nvidia/driver.c"

# Wine's words for error numbers of Windows, and Microsoft's. All else in a log is the program's own.
_WORDING = {
    "[WinError 2] File not found": "[WinError 2] The system cannot find the file specified",
    "[WinError 5] Access denied": "[WinError 5] Access is denied",
    "[WinError 87] Invalid parameter": "[WinError 87] The parameter is incorrect",
    "[WinError 183] File already exists": (
        "[WinError 183] Cannot create a file when that file already exists"
    ),
    ": Module not found.": ": The specified module could not be found.",
}


def printed(*results: Result) -> str:
    """The output that the user of these programs sees, as Windows words it."""
    text = "".join(each.stdout + each.stderr for each in results)
    for of_wine, of_microsoft in _WORDING.items():
        text = text.replace(of_wine, of_microsoft)
    return text


def python(seed: Seed, *args: str) -> Result:
    return seed.env.run(*args, cwd=WORK)


def kernel(name: str = "add", dtype: str = "fp32", block: int = 256) -> Callable[[Seed], str]:
    """A Triton program, from source to launch."""

    def run(seed: Seed) -> str:
        seed.machine.place(rf"{WORK}\train.py", PROGRAMS / "kernels.py")
        return printed(python(seed, "train.py", name, dtype, str(block), "1000"))

    return run


_ADD = kernel()


def code(text: str) -> Callable[[Seed], str]:
    """One line of Python."""

    def run(seed: Seed) -> str:
        seed.machine.place(WORK, None)
        return printed(python(seed, "-c", text))

    return run


@dataclass(frozen=True)
class Provocation(Fault):
    """`seed` breaks the environment, `run` returns what a real program prints in it.

    `problem` must be the first that explain names, and `names` stand in a line that it quotes.
    """

    torch: tuple[str, str] | None = None  # Triton 3.8 does without, and the stand-in is no tensor
    run: Callable[[Seed], str] = _ADD


def nothing(seed: Seed) -> None:
    """The environment as it is made is the fault."""


def edit(file: str, old: str, new: str) -> Callable[[Seed], None]:
    """Change one text in a file below site-packages."""

    def change(seed: Seed) -> None:
        path = seed.env.site_packages / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        seed.env.replace(path, text.replace(old, new).encode())

    return change


def variables(**values: str) -> Callable[[Seed], None]:
    return lambda seed: seed.set(**values)


def driver_fails(call: str, status: int) -> Callable[[Seed], None]:
    return variables(FAKECUDA_FAIL=f"{call}={status}")


def fetched(machine: Machine, requirement: str, file: str) -> Path:
    """One file of a real Windows wheel, left in the lane's cache."""
    return Packages(machine.lane.cache).unpacked("3.12", [requirement]) / file


def _unwritable_home(seed: Seed) -> None:
    """Linux lets nobody make a folder there, not even root, and Wine says so in Windows' terms."""
    profile = seed.machine.drives.linux(seed.machine.lane.profile)
    (profile / ".triton").symlink_to("/sys/kernel")


def _without_runtime(seed: Seed) -> None:
    for name in ("msvcp140", "vcruntime140_1"):
        seed.machine.registry.set(r"HKCU\Software\Wine\DllOverrides", name, "")


def _spoilt_helper(seed: Seed) -> None:
    """The compiled helper in the cache is one that another Python left."""
    _ADD(seed)
    cache = seed.machine.drives.linux(rf"{seed.machine.lane.profile}\.triton\cache")
    (helper,) = cache.glob("*/cuda_utils*.pyd")
    seed.env.replace(helper, seed.dll("python310.dll"))


def _older_ptxas(seed: Seed) -> None:
    old = "nvidia-cuda-nvcc-cu12==12.4.131"
    ptxas = fetched(seed.machine, old, "nvidia/cuda_nvcc/bin/ptxas.exe")
    seed.env.replace(
        seed.env.site_packages / "triton/backends/nvidia/bin/ptxas.exe", ptxas.read_bytes()
    )


def _upstream_libdevice(seed: Seed) -> str:
    return code(
        "from triton.tools.build_extern import Libdevice; Libdevice('a.bc').parse_symbols('a.ll')"
    )(seed)


def _half_a_prompt(seed: Seed) -> None:
    studio = seed.machine.visual_studio()
    seed.set(
        VCINSTALLDIR=rf"{studio.path}\VC" + "\\",
        VCToolsInstallDir=studio.tools + "\\",
        WindowsSdkDir="C:\\Program Files (x86)\\Windows Kits\\10\\",
    )


def _build_with_blank(seed: Seed) -> str:
    """The one-line command of a manual for flash-attn, with the line of its setup.py that counts."""
    nvcc = fetched(seed.machine, "nvidia-cuda-nvcc==13.0.48", "nvidia/cu13/bin/nvcc.exe")
    there = rf"{WORK}\nvcc.exe"
    seed.machine.place(there, nvcc)
    seed.machine.place(
        rf"{WORK}\setup.py",
        "import os, subprocess\nthreads = os.getenv('NVCC_THREADS') or '4'\n"
        f"subprocess.run([r'{there}', '--threads', threads, '-c', 'a.cu'], check=True)\n",
    )
    seed.machine.place(rf"{WORK}\a.cu", "int main() { return 0; }\n")
    seed.machine.place(
        rf"{WORK}\build.bat",
        f"@echo off\r\nset NVCC_THREADS=1 && set MAX_JOBS=1 && {seed.env.python} setup.py\r\n",
    )
    return printed(seed.machine.wine("cmd", "/c", "build.bat", cwd=WORK))


def _header_of_cuda(seed: Seed) -> str:
    """cl.exe is not to be had: TinyCC reads the same header under the name of the newest cl."""
    header = fetched(
        seed.machine, "nvidia-cuda-crt==13.0.48", "nvidia/cu13/include/crt/host_config.h"
    )
    seed.machine.place(r"C:\cuda\include\crt\host_config.h", header)
    seed.machine.place(rf"{WORK}\a.c", "#include <crt/host_config.h>\n")
    tcc = seed.env.win(seed.env.site_packages / "triton/runtime/tcc/tcc.exe")
    return printed(
        seed.machine.wine(
            tcc,
            "-D__CUDACC__",
            "-D_MSC_VER=1951",
            "-D_WIN64",
            r"-IC:\cuda\include",
            "-c",
            "a.c",
            cwd=WORK,
        )
    )


def _cl(seed: Seed) -> None:
    studio = seed.machine.visual_studio()
    seed.set(CC=rf"{studio.tools}\bin\Hostx64\x64\cl.exe")


def _newer_headers(seed: Seed) -> None:
    give_development(seed.machine, seed.env, "3.13")


_TRITON_31 = "triton-windows==3.1.0.post17"
_OF_32 = {"triton": WHEELS["triton-3.2"], "more": ("setuptools",), "torch": ("2.6.0", "12.4")}
_OF_35 = {"triton": WHEELS["triton-3.5"], "torch": ("2.9.1", "12.8")}

TRITON = (
    # Python's headers and import library
    Provocation(
        "embedded-python-no-headers",
        "'Python.h' not found",
        lambda s: s.delete("libs", "Include"),
        kind="comfyui",
    ),
    Provocation(
        "embedded-python-no-headers",
        "'Python.h' not found",
        lambda s: s.delete("libs", "Include"),
        kind="comfyui",
        **_OF_32,
    ),
    Provocation(
        "python-headers-wrong-set",
        "'pyconfig.h' not found",
        lambda s: s.delete("Include/pyconfig.h"),
    ),
    Provocation(
        "python-headers-wrong-set", "objimpl.h", lambda s: s.env.replace("Include/object.h", b"")
    ),
    Provocation("stale-helper-module", "PY_SSIZE_T_CLEAN", _newer_headers, kind="comfyui"),
    Provocation(
        "python-libs-not-found-venv-uv",
        "'Python.h' not found",
        lambda s: [shutil.rmtree(s.env.base.home / name) for name in ("libs", "Include")],
        kind="venv",
    ),
    # compilers
    Provocation(
        "no-c-compiler", "Failed to find C compiler", lambda s: s.delete("triton/runtime/tcc")
    ),
    Provocation("cc-variable-wrong", "WinError 5", variables(CC=r"C:\Program Files")),
    Provocation("cc-variable-wrong", "WinError 2", variables(CC=r"C:\gone\gcc.exe")),
    Provocation("cc-variable-wrong", "WinError 2", variables(CC=r"C:\windows\notepad.exe;C:\b")),
    Provocation("cc-variable-wrong", "cc_cmd: ['cl'", variables(CC="cl")),
    Provocation("msvc-env-not-initialised", "'WindowsPath' and 'NoneType'", _half_a_prompt),
    Provocation(
        "nvcc-host-compiler-mismatch",
        "unsupported Microsoft Visual Studio version",
        nothing,
        run=_header_of_cuda,
    ),
    Provocation(
        "amd-rocm-paths",
        "hip/hip_runtime.h",
        lambda s: s.machine.place(r"C:\windows\system32\amdhip64.dll", s.dll("KERNEL32.dll")),
        run=code("from triton.backends.amd.driver import HIPUtils; HIPUtils()"),
        **_OF_35,
    ),
    # which Triton, and whether it is whole
    Provocation("triton-missing", "No module named 'triton'", nothing, triton=None),
    Provocation(
        "triton-files-missing", "triton._C.libtriton", lambda s: s.delete("triton/_C/libtriton.pyd")
    ),
    Provocation(
        "script-shadows-triton",
        "'triton' is not a package",
        lambda s: s.machine.place(rf"{WORK}\triton.py", ""),
    ),
    Provocation(
        "stale-package-needs-triton-ops",
        "triton.ops",
        nothing,
        run=code("from triton.ops.matmul_perf_model import early_config_prune"),
    ),
    Provocation(
        "torch-too-old-for-triton",
        "triton.common",
        nothing,
        run=code("from triton.common.build import _build"),
    ),
    Provocation(
        "triton-sources-not-for-windows", "build_extern.py", nothing, run=_upstream_libdevice
    ),
    Provocation(
        "triton-sources-not-for-windows",
        "dlfcn.h",
        edit(DRIVER_C, "#include <stdbool.h>", "#include <dlfcn.h>\n#include <stdbool.h>"),
    ),
    Provocation(
        "triton-sources-not-for-windows",
        "libcuda.so.1",
        edit("triton/backends/nvidia/driver.py", "['cuda']", "['libcuda.so.1']"),
    ),
    Provocation(
        "old-setuptools",
        "ImpImporter",
        nothing,
        triton=None,
        more=("setuptools==65.5.0",),
        run=code("import pkg_resources"),
    ),
    # DLLs, caches
    Provocation("vcredist-missing", "importing libtriton", _without_runtime),
    Provocation("stale-helper-module", "importing cuda_utils", _spoilt_helper),
    Provocation("triton-home-not-writable", "WinError 5", _unwritable_home),
    # CUDA's tools, the driver, the GPU
    Provocation("ptxas-not-found", "ptxas.exe", lambda s: s.delete("triton/backends/nvidia/bin")),
    Provocation("ptxas-older-than-ptx", "PTX version 8.4", _older_ptxas, gpu="12.0"),
    Provocation("driver-too-old", "0 active drivers", lambda s: s.machine.no_gpu()),
    Provocation(
        "bf16-needs-sm80",
        "Feature '.bf16' requires .target sm_80",
        nothing,
        gpu="7.5",
        run=kernel("add", "bf16"),
        **_OF_32,
    ),
    Provocation(
        "fp8-needs-sm89",
        "fp8e4nv",
        nothing,
        triton=_TRITON_31,
        more=("setuptools",),
        torch=("2.5.1", "12.4"),
        gpu="8.6",
        run=kernel("fp8"),
    ),
    Provocation(
        "gpu-generation-unsupported", "'sm_120' is not defined", nothing, gpu="12.0", **_OF_32
    ),
    Provocation(
        "gpu-generation-unsupported",
        "'sm_121a' is not defined",
        nothing,
        triton=WHEELS["triton-3.3"],
        torch=("2.7.1", "12.8"),
        gpu="12.1",
    ),
    Provocation(
        "gpu-generation-unsupported",
        "PassManager::run failed",
        nothing,
        gpu="7.5",
        run=kernel("dot", "i8", 32),
    ),
    # run time
    Provocation(
        "offload-moves-compiled-model", "Pointer argument", driver_fails("cuPointerGetAttribute", 1)
    ),
    Provocation("fork-launcher-stale-error", "0xC0000005", nothing, **_OF_35),
    # builds
    Provocation("build-variable-blanks", "'1 ': expected a number", nothing, run=_build_with_blank),
)
