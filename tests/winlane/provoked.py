"""Failures provoked for real: an environment broken in one way, and a real program run in it."""

from __future__ import annotations

import http.server
import os
import shutil
import sys
import tarfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from faults import FORK, Fault, Seed, prepare, rows
from repairs import REAL
from winlane import Machine, Result, standins
from winlane.headers import find_uv
from winlane.packages import Packages
from winlane.wine import run

PROGRAMS = Path(__file__).parent / "programs"
WORK, WHEELS = r"C:\work", r"C:\wheels"
PIP = ("-m", "pip", "--disable-pip-version-check")
MARK = "\x1e"
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
_GERMAN_CL = (
    "Microsoft (R) C/C++-Optimierungscompiler Version 19.44.35207 f\xfcr x64\r\n"
    "Copyright (C) Microsoft Corporation. Alle Rechte vorbehalten.\r\n\r\n"
    "Syntax: cl [ Option... ] Dateiname... [ /link Linkeroption... ]\r\n"
).encode("cp1252")
# All that flash-attn's setup.py asks of torch before the first kernel is compiled.
_FLASH_TORCH = {
    "torch/__init__.py": 'from torch import _C, version\n\n__version__ = "2.9.1+cu128"\n',
    "torch/_C.py": "_GLIBCXX_USE_CXX11_ABI = True\n",
    "torch/version.py": 'cuda = "12.8"\nhip = None\n',
    "torch/utils/__init__.py": "",
    "torch/utils/cpp_extension.py": (
        "class BuildExtension:\n    pass\n\n\n"
        "CppExtension = CUDAExtension = BuildExtension\nCUDA_HOME = ROCM_HOME = IS_HIP_EXTENSION = None\n"
    ),
}


@dataclass(frozen=True)
class Failure(Fault):
    """`run` is the program by its name, with its arguments; `names` stand in a line it prints."""

    torch: Sequence[str] = ()  # Triton 3.8 does without, and the stand-in is no tensor
    run: Mapping[str, Any] = field(default_factory=lambda: {"kernel": True})


@dataclass(frozen=True)
class Program:
    """`problem` must be the first that explain names, and `names` stand in a line it quotes."""

    problem: str
    names: str
    text: str


@dataclass(frozen=True)
class Session:
    packages: Sequence[str]
    programs: Sequence[Mapping[str, str]]

    @property
    def named(self) -> dict[str, Program]:
        return {f"program{n}.py": Program(**row) for n, row in enumerate(self.programs)}


_TABLE = rows("provoked.toml")
FAILURES = tuple(Failure(**row) for row in _TABLE["failure"])
SESSIONS = tuple(Session(**row) for row in _TABLE["session"])


def printed(*results: Result) -> str:
    """The output that the user of these programs sees, as Windows words it."""
    text = "".join(each.stdout + each.stderr for each in results)
    for of_wine, of_microsoft in _WORDING.items():
        text = text.replace(of_wine, of_microsoft)
    return text


def log_of(machine: Machine, failure: Failure) -> str:
    scene = prepare(machine, failure, Scene)
    machine.place(WORK, None)
    machine.place(WHEELS, None)
    scene.sow(failure.seed)
    scene.sow(failure.run)
    return scene.log


def logs(machine: Machine, session: Session) -> dict[str, str]:
    """The output of each program of the session."""
    more = (*session.packages, "msvc-runtime-new", "numpy")
    seed = prepare(machine, Fault(triton="", torch=(), more=more))
    seed.runtime_beside()
    machine.place(r"C:\german\cl.exe", machine.fakes.tool())
    for suffix in ("out", "err"):
        machine.place(rf"C:\german\cl.exe.{suffix}", _GERMAN_CL)
    machine.place(rf"{WORK}\session.py", PROGRAMS / "session.py")
    for name, program in session.named.items():
        machine.place(rf"{WORK}\{name}", program.text)
    ran = seed.env.run("session.py", *session.named, cwd=WORK, timeout=400)
    parts = (part.split("\n", 1) for part in printed(ran).split(MARK)[1:])
    return dict(parts)


@dataclass
class Scene(Seed):
    """Steps that break an environment, and the programs that run in it: these write the log."""

    log: str = ""

    def python(self, *args: str, **env: str) -> None:
        self.log += printed(self.env.run(*args, cwd=WORK, env=env))

    def fetched(self, requirement: str, file: str) -> Path:
        """One file of a real Windows wheel, left in the lane's cache."""
        return Packages(self.machine.lane.cache).unpacked("3.12", [requirement]) / file

    # -- steps

    def wheels(self, **files: Sequence[str]) -> None:
        """Wheels without content by their names, and what each requires."""
        folder = self.machine.drives.linux(WHEELS)
        for file, requires in files.items():
            name, version, tag = file.split("-", 2)
            content = {f"{name}.py": ""}
            standins.wheel(
                folder, "3.12", name, version, tag=tag, requires=tuple(requires), files=content
            )

    def unwritable_home(self) -> None:
        """Linux lets nobody make a folder there, not even root, and Wine says so in Windows' terms."""
        profile = self.machine.drives.linux(self.machine.lane.profile)
        (profile / ".triton").symlink_to("/sys/kernel")

    def no_runtime(self) -> None:
        for name in ("msvcp140", "vcruntime140_1"):
            self.machine.registry.set(r"HKCU\Software\Wine\DllOverrides", name, "")

    def spoilt_helper(self) -> None:
        """The compiled helper in the cache is one that another Python left."""
        self.kernel()
        self.log = ""
        cache = self.machine.drives.linux(rf"{self.machine.lane.profile}\.triton\cache")
        (helper,) = cache.glob("*/cuda_utils*.pyd")
        self.env.replace(helper, self._content({"imports": "python310.dll"}))

    def older_ptxas(self) -> None:
        old = self.fetched("nvidia-cuda-nvcc-cu12==12.4.131", "nvidia/cuda_nvcc/bin/ptxas.exe")
        ptxas = self.path("site/triton/backends/nvidia/bin/ptxas.exe")
        self.env.replace(ptxas, old.read_bytes())

    def half_a_prompt(self) -> None:
        studio = self.machine.visual_studio()
        self.set(
            VCINSTALLDIR=rf"{studio.path}\VC" + "\\",
            VCToolsInstallDir=studio.tools + "\\",
            WindowsSdkDir="C:\\Program Files (x86)\\Windows Kits\\10\\",
        )

    def setuptools_wheel(self) -> None:
        """The wheel that build isolation installs."""
        for file in Packages(self.machine.lane.cache).wheels("3.12", REAL).glob("setuptools-*"):
            self.machine.place(rf"{WHEELS}\{file.name}", file)

    def dlls_folder(self) -> None:
        """Extension modules where python.org's installer puts them: isolation takes the home away."""
        place = self.env.home / "DLLs"
        place.mkdir()
        for file in self.env.home.iterdir():
            own = not file.name.startswith(("python", "vcruntime"))
            if own and file.suffix in (".pyd", ".dll"):
                file.rename(place / file.name)

    # -- programs

    def kernel(self, name: str = "add", dtype: str = "fp32", block: str = "256") -> None:
        """A Triton program, from source to launch."""
        self.machine.place(rf"{WORK}\train.py", PROGRAMS / "kernels.py")
        self.python("train.py", name, dtype, block, "1000")

    def code(self, text: str) -> None:
        self.python("-c", text)

    def pip(self, *args: str) -> None:
        self.python(*PIP, *args)

    def install(self, *requirements: str) -> None:
        """`pip install` with no index but the folder of wheels."""
        self.pip("install", "--no-index", "--find-links", WHEELS, *requirements)

    def update(self) -> None:
        """An application's update brings another torch."""
        self.install(rf"{WHEELS}\torch-2.14.1+cu130-py3-none-any.whl")
        self.log = ""
        self.install("some_app")

    def stale_link(self) -> None:
        handler = partial(_Quiet, directory=os.devnull)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            host = f"http://127.0.0.1:{server.server_port}"
            file = "triton-3.1.0-cp312-cp312-win_amd64.whl"
            self.install(f"{host}/releases/download/v3.1.0-windows.post5/{file}")
            server.shutdown()

    def two_pythons(self) -> None:
        other = self.machine.environment("3.12", "full", [FORK])
        installed = printed(other.run(*PIP, "install", "triton-windows", cwd=WORK))
        prompt = r"C:\ComfyUI_windows_portable>"
        self.log = f"{prompt}pip install triton-windows\n{installed}\n"
        self.log += f"{prompt}python_embeded\\python.exe train.py\n"
        self.kernel()

    def build_with_blank(self) -> None:
        """The one-line command of a manual for flash-attn, with the line of its setup.py that counts."""
        there = rf"{WORK}\nvcc.exe"
        nvcc = self.fetched("nvidia-cuda-nvcc==13.0.48", "nvidia/cu13/bin/nvcc.exe")
        self.machine.place(there, nvcc)
        setup = (
            "import os, subprocess\nthreads = os.getenv('NVCC_THREADS') or '4'\n"
            f"subprocess.run([r'{there}', '--threads', threads, '-c', 'a.cu'], check=True)\n"
        )
        line = f"set NVCC_THREADS=1 && set MAX_JOBS=1 && {self.env.python} setup.py"
        self.machine.place(rf"{WORK}\setup.py", setup)
        self.machine.place(rf"{WORK}\a.cu", "int main() { return 0; }\n")
        self.machine.place(rf"{WORK}\build.bat", f"@echo off\r\n{line}\r\n")
        self.log = printed(self.machine.wine("cmd", "/c", "build.bat", cwd=WORK))

    def header_of_cuda(self) -> None:
        """cl.exe is not to be had: TinyCC reads the same header under the name of the newest cl."""
        header = self.fetched("nvidia-cuda-crt==13.0.48", "nvidia/cu13/include/crt/host_config.h")
        self.machine.place(r"C:\cuda\include\crt\host_config.h", header)
        self.machine.place(rf"{WORK}\a.c", "#include <crt/host_config.h>\n")
        tcc = self.env.win(self.path("site/triton/runtime/tcc/tcc.exe"))
        flags = ("-D__CUDACC__", "-D_MSC_VER=1951", "-D_WIN64", r"-IC:\cuda\include")
        self.log = printed(self.machine.wine(tcc, *flags, "-c", "a.c", cwd=WORK))

    def bdist_wheel(self, **variables: str) -> None:
        """flash-attn's `setup.py bdist_wheel`, with a stand-in for torch: no compiler is needed."""
        folder = rf"{WORK}\flash-attention"
        for name, text in _FLASH_TORCH.items():
            self.env.replace(self.env.site_packages / name, text.encode())
        self.machine.place(folder, _flash_sources(self.machine))
        self.machine.place(rf"{folder}\csrc\cutlass\include\cutlass\cutlass.h", "")
        self.log = printed(self.env.run("setup.py", "bdist_wheel", cwd=folder, env=variables))


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


def _flash_sources(machine: Machine, version: str = "2.8.3") -> Path:
    """setup.py and what it reads, out of the sdist.

    pip hands over an sdist only after running its setup.py, which imports torch and its tools.
    """

    def build(folder: Path) -> None:
        tools = folder / "tools"
        run(find_uv(), "pip", "install", "-q", "--no-config", "--target", tools,
            "pip", "ninja", "packaging", "psutil", "setuptools", "wheel")  # fmt: skip
        for name, text in _FLASH_TORCH.items():
            file = tools / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        own = {"PYTHONPATH": str(tools), "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE"}
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation",
            "--no-binary", ":all:", "-d", folder, f"flash-attn=={version}",
            env={**os.environ, **own})  # fmt: skip
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as sdist:
            for name in ("setup.py", "README.md", "flash_attn/__init__.py"):
                member = sdist.extractfile(f"flash_attn-{version}/{name}")
                assert member
                (folder / "kept" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "kept" / name).write_bytes(member.read())
        archive.unlink()
        shutil.rmtree(tools)

    name = f"sources/flash_attn-{version}"
    return machine.lane.cache.product(name, build, f"fetching flash-attn {version}") / "kept"
