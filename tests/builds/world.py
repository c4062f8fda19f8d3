"""A world to build in: a target Python, stand-in compilers, and the plan that uses them."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import build_plans
import platformdirs

from tritonwin.build.records import BuildPlan, BuildSource, Toolkit
from tritonwin.build.source import BuildContext
from tritonwin.support.pip import Pip
from tritonwin.system.host import Environment, Host

HERE = Path(__file__).resolve().parent
PIP = Pip((sys.executable, "-m", "pip"))
TOOLS = ("setuptools>=80", "wheel", "ninja>=1.13", "packaging", "psutil")


def cached_target(name: str, *packages: str, finish: Callable[[Path], None] | None = None) -> Path:
    """A virtual environment below the user's cache with these packages; its interpreter.

    It is made once for each Python and choice of packages. `finish` is given the interpreter and
    puts the last hand to what was installed.
    """
    version = "".join(map(str, sys.version_info[:2]))
    made_of = "\n".join((sys.base_prefix, sys.version, *packages))
    key = f"{name}-{version}-{hashlib.sha256(made_of.encode()).hexdigest()[:8]}"
    home = Path(platformdirs.user_cache_dir("tritonwin")) / "builds" / key
    python = home / "bin" / "python"
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker of the tests at a time
        if not (home / "complete").is_file():
            subprocess.run(
                [sys.executable, "-m", "venv", "--clear", "--without-pip", str(home)], check=True
            )
            into = ("--python", str(python), "install", "--quiet")
            done = PIP.run([*into, *packages], timeout=1200)
            assert done.code == 0, done.err.decode()
            if finish:
                finish(python)
            (home / "complete").touch()
    return python


def lay_down_compilers(folder: Path, cuda: Path, settings: Path) -> None:
    """The stand-ins: `c++` in the folder, and what tells a folder to be a toolkit of CUDA 13.0."""
    for name in ("bin/ptxas", "nvvm/bin/cicc", "lib64/libcudart.so", "include/crt/host_config.h"):
        (cuda / name).parent.mkdir(parents=True, exist_ok=True)
        (cuda / name).touch()
    # a linker script that links nothing
    (cuda / "lib64/libcudart.so").write_text("OUTPUT_FORMAT(elf64-x86-64)\n")
    (cuda / "include/cuda.h").write_text("#define CUDA_VERSION 13000\n")
    for place, kind in ((cuda / "bin/nvcc", "nvcc"), (folder / "c++", "c++")):
        words = (sys.executable, "-I", "-S", HERE / "stub_compiler.py", kind, settings)
        place.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
        place.chmod(0o755)


@dataclass
class World:
    """Folders of one test.

    Attributes:
        fail: source name -> how it fails, and how often.
        seconds: that a compiler takes.
        wait: source name -> a file without which its compiler does not end.
        extra: variables of the build.
    """

    folder: Path
    target: Path
    fail: dict[str, tuple[str, int]] = field(default_factory=dict)
    seconds: float = 0.0
    wait: dict[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    said: list[object] = field(default_factory=list)

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def cuda(self) -> Path:
        return self.folder / "cuda"

    def write(self) -> None:
        """Lay the stand-in compilers down with the settings as they are now."""
        settings = self.folder / "settings.json"
        known = {"journal": str(self.journal), "seconds": self.seconds, "fail": self.fail}
        settings.write_text(json.dumps({**known, "wait": self.wait}))
        lay_down_compilers(self.folder, self.cuda, settings)

    def plan(self, **changes: object) -> BuildPlan:
        """A plan of the small project, which the changes turn into that of another one."""
        project = BuildSource(kind="folder", location=str(HERE / "project"))
        environment = {
            "CUDA_HOME": str(self.cuda),
            "ARCHS": "80;90",
            "KERNELS": "6",
            "MAX_JOBS": "4",
        }
        words = ("setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(self.folder / "root/dist"))
        known = build_plans.plan(
            self.folder / "root",
            distribution="tiny-kernels",
            source=project,
            target=str(self.target),
            python=sys.version.split()[0],
            archs=("8.0", "9.0"),
            cuda=Toolkit(origin="system", path=str(self.cuda), version="13.0"),
            jobs=4,
            environment={**environment, **self.extra},
            requirements=TOOLS,
            command=words,
            local_version="cu130torch2.13",
            imports=("tiny_kernels_cuda",),
            extension="tiny_kernels_cuda*",
        )
        return replace(known, **changes)  # type: ignore[arg-type]

    def context(self) -> BuildContext:
        variables = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "CXX": str(self.folder / "c++"),
            "FLASH_ATTN_LOCAL_VERSION": "own",
        }
        return BuildContext(
            pip=lambda: PIP,
            host=replace(Host.this_machine(), env=Environment(variables)),
            on_event=self.said.append,
        )

    def compiled(self, word: str = "end") -> Counter[str]:
        """The number of times that each source was compiled to its end, or begun."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return Counter(line.split()[1] for line in lines if line.startswith(word))
