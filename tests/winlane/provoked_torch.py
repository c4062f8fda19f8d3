"""Real torch builds for Windows, without a GPU: programs that fail in them.

Importing torch takes ten seconds and more in the lane, so the programs of one environment share a
process (programs/session.py). The GPU that bitsandbytes sees is made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faults import Fault, prepare
from provoked import PROGRAMS, WORK, nothing, printed
from winlane import Machine
from winlane.resources import WHEELS

MARK = "\x1e"
_GERMAN_CL = (
    "Microsoft (R) C/C++-Optimierungscompiler Version 19.44.35207 f\xfcr x64\r\n"
    "Copyright (C) Microsoft Corporation. Alle Rechte vorbehalten.\r\n\r\n"
    "Syntax: cl [ Option... ] Dateiname... [ /link Linkeroption... ]\r\n"
).encode("cp1252")


@dataclass(frozen=True)
class Program:
    """`problem` must be the first that explain names, and `names` stand in a line it quotes."""

    problem: str
    names: str
    text: str


@dataclass(frozen=True)
class Session:
    packages: tuple[str, ...]
    programs: Mapping[str, Program]

    @property
    def name(self) -> str:
        return self.packages[0]


def logs(machine: Machine, session: Session) -> dict[str, str]:
    """The output of each program of the session."""
    more = (*session.packages, WHEELS["msvc-runtime-new"], WHEELS["numpy"])
    seed = prepare(machine, Fault("", "", nothing, triton=None, torch=None, more=more))
    for dll in seed.env.site_packages.glob("*140*.dll"):
        seed.env.replace(dll.name, dll.read_bytes())
    machine.place(r"C:\german\cl.exe", machine.fakes.tool())
    for suffix in ("out", "err"):
        machine.place(rf"C:\german\cl.exe.{suffix}", _GERMAN_CL)
    machine.place(rf"{WORK}\session.py", PROGRAMS / "session.py")
    for name, program in session.programs.items():
        machine.place(rf"{WORK}\{name}", program.text)
    ran = seed.env.run("session.py", *session.programs, cwd=WORK, timeout=400)
    parts = (part.split("\n", 1) for part in printed(ran).split(MARK)[1:])
    return dict(parts)


_COMPILE = """\
import os

import torch

os.environ["PATH"] = {path!r}


@torch.compile
def step(x):
    return torch.sin(x) + {constant}


print(step(torch.ones(8)))
"""

SESSIONS = (
    Session(
        (WHEELS["torch-cpu"], WHEELS["triton-3.8"], "bitsandbytes==0.42.0", "scipy==1.14.1"),
        {
            "device.py": Program(
                "cpu-only-torch",
                "Torch not compiled with CUDA enabled",
                'import torch\n\nx = torch.zeros(4, device="cuda")\n',
            ),
            "setup.py": Program(
                "cuda-toolkit-for-build",
                "CUDA_HOME environment variable is not set",
                "from torch.utils.cpp_extension import CUDAExtension\n\n"
                'CUDAExtension("fused", ["fused.cu"])\n',
            ),
            "compile.py": Program(
                "inductor-needs-cl",
                "Compiler: cl is not found",
                _COMPILE.format(path=r"C:\windows\system32", constant=1),
            ),
            "german.py": Program(
                "msvc-localised-output",
                "UnicodeDecodeError: 'utf-8'",
                _COMPILE.format(path=r"C:\german;C:\windows\system32", constant=2),
            ),
            "adam.py": Program(
                "stale-package-needs-triton-ops", "triton.ops", "import bitsandbytes\n"
            ),
        },
    ),
    Session(
        ("torch==2.5.1", WHEELS["triton-3.5"], "bitsandbytes==0.42.0", "scipy==1.14.1"),
        {
            "rename.py": Program(
                "inductor-rename-windows",
                "WinError 183",
                "from torch._inductor.codecache import write_atomic\n\n"
                'write_atomic("graph.py", "first")\nwrite_atomic("graph.py", "again")\n',
            ),
            "key.py": Program(
                "triton-too-new-for-torch",
                "triton_key",
                "from torch._inductor.codecache import CacheBase\n\nCacheBase.get_system()\n",
            ),
            "gpu.py": Program(
                "bnb-without-windows-binaries",
                "libcudart.so",
                "import torch\n\ntorch.cuda.is_available = lambda: True\n"
                "torch.cuda.device_count = lambda: 1\n"
                "torch.cuda.get_device_capability = lambda device=0: (8, 9)\n"
                'torch.version.cuda = "12.8"\nimport bitsandbytes\n',
            ),
        },
    ),
)
