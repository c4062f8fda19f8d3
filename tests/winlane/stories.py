"""Three stories from end to end, told by what real Windows programs print: docs/stories/.

    PYTHONPATH=tools:tests/winlane python tests/winlane/stories.py    writes the pages again

Each command is typed into the lane as a user types it, in the folder where a user has it; nothing
that it prints is edited but what differs from run to run (`steady`).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from textwrap import fill

import build_pyz
from faults import rows
from overlay import upstream_site
from winlane import Environment, Lane, Machine, standins
from winlane.packages import Packages

PAGES = Path(__file__).resolve().parents[2] / "docs" / "stories"
APP = r"C:\ComfyUI_windows_portable"
Typed = Callable[[str], tuple[str, int]]  # a command -> what it prints, and its exit status
TORCH = "2.14.1"
UPSTREAM = "3.8.0"
_NODE = '''\
"""Stands in for ComfyUI with a custom node that has a Triton kernel."""
import triton
import triton.language as tl


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


print("custom node: triton", triton.__version__)
print("custom node: compiling for", triton.runtime.driver.active.get_current_target())
'''
_CPU_TORCH = {
    "torch/__init__.py": "from torch.version import __version__\nfrom torch import cuda, version\n",
    "torch/cuda/__init__.py": "def is_available():\n    return False\n",
    "torch/version.py": f"__version__ = '{TORCH}+cpu'\ndebug = False\ncuda = None\nhip = None\n"
    f"xpu = None\ngit_version = '{'0' * 40}'\n",
}
_COUNTED = {
    # not the rungs of a proof, which say in brackets what was seen
    "what is restored": r"  (move|make the folder|write|remove) C:|  and \d+ more"
}
# their Windows wheels are nothing special, so their records are enough
_NEEDED_BY_TORCH = {"filelock": "3.20.0", "typing-extensions": "4.15.0", "sympy": "1.14.0"}


@dataclass
class Story:
    """A page: `parts` are texts and commands, `statuses` and `outputs` what came of these."""

    file: str
    title: str
    parts: Sequence[Mapping[str, str]]
    text: str = ""
    statuses: list[int] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def go(self, typed: Typed, kept: Path) -> None:
        """Type each command; the output of one goes into the folder `kept` as `into` says."""
        page = [f"# {self.title}", HEAD]
        for part in self.parts:
            if "tell" in part:
                page.append(fill(part["tell"], 100, break_on_hyphens=False))
                continue
            printed, status = typed(part["type"])
            self.outputs.append(printed)
            self.statuses.append(status)
            if "into" in part:
                (kept / part["into"]).write_text(printed, encoding="utf-8")
            shown = "\n".join(briefly(steady(printed).strip("\n").splitlines()))
            command = f"{part['prompt']} {part['type']}"
            page.append(f"```text\n{command}\n{shown}\n```\n\nExit status {status}.")
        self.text = "\n\n".join(page) + "\n"


def steady(text: str) -> str:
    """A text with all that differs from run to run made the same: times, names, free memory."""
    text = re.sub(r"\b\d+(\.\d+)? s\b", "N s", text)
    text = re.sub(r"[\d.]+ GiB free", "N GiB free", text)
    return re.sub(r"\b\d{6}-\d{6}-\d{6}\b", "JOURNAL", text)


def briefly(lines: Iterable[str]) -> Iterator[str]:
    """Lines that are one as good as the other are counted."""
    for what, alike in groupby(lines, _left_out):
        if what:
            yield f"  [{what}: {len(list(alike))} lines]"
        else:
            yield from (line.rstrip() for line in alike)


def _left_out(line: str) -> str:
    return next((what for what, lines in _COUNTED.items() if re.match(lines, line)), "")


def skeleton(text: str) -> list[str]:
    """The parts of a page that stay while the wording changes: commands, statuses, ids."""
    kept = re.compile(
        r"# .*|[C$].*> .*|\$ .*|Exit status \d+|(?:problem|warning)\b.*\[[a-z0-9-]+\]|Proven:.*|refused:.*"
    )
    return [line for line in text.splitlines() if kept.match(line)]


def in_windows(machine: Machine, folder: str) -> Typed:
    """A console in one folder of the lane's Windows."""

    def typed(command: str) -> tuple[str, int]:
        line = f'cmd /d /s /c "{command} 2>&1"'
        done = machine.start(line, cwd=folder, timeout=600)
        return done.stdout + done.stderr, done.returncode

    return typed


def comfyui(machine: Machine, pyz: Path, wheels: Path) -> Environment:
    """An embedded Python as ComfyUI ships it, spoilt in three ways; wheels at C:\\wheels."""
    profile = machine.home("Ada")
    packages = ["triton-3.8", "setuptools"]
    made = machine.environment("3.12", "comfyui", packages, where=r"C:\unpacked")
    root = machine.drives.linux(APP)
    (made.root / "ComfyUI_windows_portable").rename(root)
    home = root / "python_embeded"
    env = replace(made, root=root, home=home, site_packages=home / "Lib" / "site-packages")
    shutil.copytree(
        upstream_site(machine.lane, UPSTREAM), env.site_packages,
        dirs_exist_ok=True, copy_function=shutil.copyfile,
    )  # fmt: skip
    standins.distribution(env, "torch", f"{TORCH}+cpu", files=_CPU_TORCH)
    for name, version in _NEEDED_BY_TORCH.items():
        standins.distribution(env, name, version, tag="py3-none-any")
    (root / "ComfyUI" / "main.py").write_text(_NODE, encoding="utf-8")
    shutil.copyfile(pyz, root / "tritonwin.pyz")
    machine.gpu()
    pythons = rf"{profile}\AppData\Local\Programs\Python"
    machine.register_python(machine.environment("3.12", "full", where=pythons))
    machine.place(r"C:\wheels", wheels)
    return env


def project(machine: Machine) -> str:
    """A venv with torch for CUDA 12.4, that toolkit, and Visual Studio 2026; its folder."""
    machine.home("Ada")
    machine.gpu()
    machine.visual_studio("2026", "Community", "14.51.36014")
    machine.windows_sdk()
    machine.cuda_toolkit("system", "12.4")
    env = machine.environment("3.12", "venv", where=r"C:\project")
    standins.cuda_torch(env, machine.fakes, "2.6.0", "12.4")
    folder = env.win(env.root)
    machine.place(rf"{folder}\tritonwin.cmd", _launcher(machine))
    return folder


def _launcher(machine: Machine) -> str:
    """The tritonwin.exe that pip puts on PATH."""
    words, _ = machine.lane.command()
    return f"@{subprocess.list2cmdline([words[0], '-B', *words[1:]])} %*\r\n"


def on_linux(folder: Path) -> Typed:
    """A console of this machine, in a folder with what Ada sent."""
    programs = Path(sys.executable).parent
    # a command that is not on PATH is spoken of by its whole path
    path = os.pathsep.join((str(programs), os.environ["PATH"]))

    def typed(command: str) -> tuple[str, int]:
        done = subprocess.run(
            [programs / "tritonwin", *command.split()[1:]],
            cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            check=False, env={**os.environ, "PATH": path},
        )  # fmt: skip
        return done.stdout, done.returncode

    return typed


def wheels(lane: Lane, machine: Machine, folder: Path) -> Path:
    """The wheels of the repair: real ones, and a stand-in for torch's CUDA build."""
    folder.mkdir()
    for file in Packages(lane.cache).wheels("3.12", ("triton-3.8", "pip")).glob("*.whl"):
        shutil.copyfile(file, folder / file.name)
    standins.cuda_torch_wheel(folder, "3.12", machine.fakes, TORCH, "13.0")
    return folder


def told(lane: Lane, work: Path) -> list[Story]:
    """The three stories, as they go now."""
    pyz, sent = work / "tritonwin.pyz", work / "sent"
    build_pyz.build(pyz)
    sent.mkdir()
    repair, build, maintainer = (Story(**row) for row in rows("stories.toml")["story"])
    with Machine(lane) as machine:
        env = comfyui(machine, pyz, wheels(lane, machine, work / "wheels"))
        repair.go(in_windows(machine, APP), sent)
        shutil.copyfile(env.root / "report.json", sent / "report.json")
    with Machine(lane) as machine:
        build.go(in_windows(machine, project(machine)), work)
    maintainer.go(on_linux(sent), work)
    return [repair, build, maintainer]


HEAD = """\
Every command here ran: in real Windows CPython under Wine, with real `triton-windows` wheels, in
[the Windows lane](../windows-lane.md); the maintainer's on Linux. Stand-ins: the GPU driver, both builds
of torch, Visual Studio, the CUDA toolkit's programs, the launcher of the venv, and ComfyUI itself.
Seconds are shown as N, names of journals as JOURNAL; lines that are alike are counted, in brackets.
`tests/winlane/stories.py` writes this page."""


def main() -> None:
    with Lane.ready() as lane, tempfile.TemporaryDirectory() as work:
        for story in told(lane, Path(work)):
            (PAGES / f"{story.file}.md").write_text(story.text, encoding="utf-8")


if __name__ == "__main__":
    main()
