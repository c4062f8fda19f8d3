"""flash-attn's own setup.py in a Windows Python, with a stand-in for torch: no compiler is needed."""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from faults import Seed
from provoked import Provocation, nothing, printed
from winlane import Machine
from winlane.headers import find_uv
from winlane.wine import run

_VERSION = "2.8.3"
_FOLDER = r"C:\work\flash-attention"
_BUILD_TOOLS = ("ninja", "packaging", "psutil", "setuptools", "wheel")
# All that its setup.py asks of torch before the first kernel is compiled.
_TORCH = {
    "torch/__init__.py": 'from torch import _C, version\n\n__version__ = "2.9.1+cu128"\n',
    "torch/_C.py": "_GLIBCXX_USE_CXX11_ABI = True\n",
    "torch/version.py": 'cuda = "12.8"\nhip = None\n',
    "torch/utils/__init__.py": "",
    "torch/utils/cpp_extension.py": (
        "class BuildExtension:\n    pass\n\n\n"
        "CppExtension = CUDAExtension = BuildExtension\nCUDA_HOME = ROCM_HOME = IS_HIP_EXTENSION = None\n"
    ),
}


def _sources(machine: Machine) -> Path:
    """setup.py and what it reads, out of the sdist.

    pip hands over an sdist only after running its setup.py, which imports torch and its tools.
    """

    def build(folder: Path) -> None:
        tools = folder / "tools"
        run(
            find_uv(),
            "pip",
            "install",
            "-q",
            "--no-config",
            "--target",
            tools,
            "pip",
            *_BUILD_TOOLS,
        )
        for name, text in _TORCH.items():
            file = tools / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        environment = {
            **os.environ,
            "PYTHONPATH": str(tools),
            "FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE",
        }
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation",
            "--no-binary", ":all:", "-d", folder, f"flash-attn=={_VERSION}",
            env=environment)  # fmt: skip
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as sdist:
            for name in ("setup.py", "README.md", "flash_attn/__init__.py"):
                member = sdist.extractfile(f"flash_attn-{_VERSION}/{name}")
                assert member
                (folder / "kept" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "kept" / name).write_bytes(member.read())
        archive.unlink()
        shutil.rmtree(tools)

    name = f"sources/flash_attn-{_VERSION}"
    return machine.lane.cache.product(name, build, f"fetching flash-attn {_VERSION}") / "kept"


def bdist_wheel(**variables: str) -> Callable[[Seed], str]:
    """`python setup.py bdist_wheel` with these variables set."""

    def build(seed: Seed) -> str:
        for name, text in _TORCH.items():
            seed.env.replace(seed.env.site_packages / name, text.encode())
        seed.machine.place(_FOLDER, _sources(seed.machine))
        seed.machine.place(rf"{_FOLDER}\csrc\cutlass\include\cutlass\cutlass.h", "")
        return printed(seed.env.run("setup.py", "bdist_wheel", cwd=_FOLDER, env=variables))

    return build


def provocation(problem: str, names: str, run: Callable[[Seed], str]) -> Provocation:
    # 3.12's shutil copies with a call that Wine 8 lacks
    return Provocation(
        problem, names, nothing, version="3.11", triton=None, more=_BUILD_TOOLS, run=run
    )


FLASH = (
    provocation(
        "no-official-windows-wheel",
        "Precompiled wheel not found",
        bdist_wheel(FLASH_ATTENTION_SKIP_CUDA_BUILD="TRUE"),
    ),
    provocation(
        "build-variable-blanks", "name 'IS_ROCM' is not defined", bdist_wheel(BUILD_TARGET="cuda ")
    ),
)
