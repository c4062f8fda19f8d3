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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from textwrap import fill

import build_pyz
from overlay import upstream_site
from trees import describe_tree
from winlane import Environment, Lane, Machine, standins
from winlane.packages import Packages

PAGES = Path(__file__).resolve().parents[2] / "docs" / "stories"
APP = r"C:\ComfyUI_windows_portable"
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
    """`statuses` are the exit codes in order, `outputs` what was printed."""

    file: str
    title: str
    parts: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def tell(self, text: str) -> None:
        self.parts.append(fill(text, 100, break_on_hyphens=False))

    def show(self, prompt: str, command: str, printed: str, status: int) -> None:
        shown = "\n".join(briefly(steady(printed).strip("\n").splitlines()))
        self.parts.append(f"```text\n{prompt}{command}\n{shown}\n```\n\nExit status {status}.")
        self.statuses.append(status)
        self.outputs.append(printed)

    @property
    def text(self) -> str:
        """The page: how it was made, and what happened."""
        return "\n\n".join([f"# {self.title}", HEAD, *self.parts]) + "\n"


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


@dataclass
class Desk:
    """A console in one folder of the lane's Windows."""

    story: Story
    machine: Machine
    folder: str

    def type(self, command: str, *, timeout: float = 600) -> str:
        done = self.machine.start(
            f'cmd /d /s /c "{command} 2>&1"', cwd=self.folder, timeout=timeout
        )
        self.story.show(f"{self.folder}> ", command, done.stdout + done.stderr, done.returncode)
        return done.stdout


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


def repaired(machine: Machine, pyz: Path, wheels: Path) -> tuple[Story, Path]:
    """(a), and the folder with what Ada sends before the repair."""
    story = Story("repair", "A broken ComfyUI, repaired and proven")
    env = comfyui(machine, pyz, wheels)
    desk = Desk(story, machine, APP)
    python = r".\python_embeded\python.exe"
    story.tell(
        "Ada's ComfyUI is the portable one. Somebody unpacked the Linux wheel of `triton` over "
        "`triton-windows`, an update brought a torch for the CPU, and as in every embedded Python "
        "there are no C headers. A custom node fails:"
    )
    log = desk.type(rf"{python} -s ComfyUI\main.py")
    (env.root / "comfyui.log").write_text(log, encoding="utf-8")
    story.tell("She keeps this as `comfyui.log`, and asks:")
    desk.type(f"{python} tritonwin.pyz doctor")
    story.tell(
        "What a maintainer needs goes into a file ([what the maintainer does with it](maintainer.md)):"
    )
    desk.type(f"{python} tritonwin.pyz snapshot -o report.json")
    sent = env.root.parent / "sent"
    sent.mkdir()
    for name in ("comfyui.log", "report.json"):
        shutil.copyfile(env.root / name, sent / name)
    before = describe_tree(env.root)
    story.tell(
        "And the repair. The lane has no network, so the wheels lie in a folder; on a PC with one, "
        "`fix --yes` is the whole command."
    )
    desk.type(rf"{python} tritonwin.pyz fix --yes --offline --find-links C:\wheels")
    story.tell("The custom node now reaches its GPU:")
    desk.type(rf"{python} -s ComfyUI\main.py")
    story.tell("Everything can be restored, byte for byte:")
    desk.type(f"{python} tritonwin.pyz undo --yes")
    assert describe_tree(env.root) == before
    return story, sent


def planned(machine: Machine) -> Story:
    """(b)"""
    story = Story("build", "A build that cannot work, refused before it starts")
    machine.home("Ada")
    machine.gpu()
    machine.visual_studio("2026", "Community", "14.51.36014")
    machine.windows_sdk()
    machine.cuda_toolkit("system", "12.4")
    env = machine.environment("3.12", "venv", where=r"C:\project")
    standins.cuda_torch(env, machine.fakes, "2.6.0", "12.4")
    folder = env.win(env.root)
    story.tell(
        "A venv with torch 2.6.0 for CUDA 12.4, the CUDA toolkit 12.4, and Visual Studio 2026 as "
        "the only compiler. Nobody has to wait an hour for nvcc to refuse it:"
    )
    machine.place(rf"{folder}\tritonwin.cmd", _launcher(machine))
    desk = Desk(story, machine, folder)
    python = r".\venv\Scripts\python.exe"
    desk.type(rf"tritonwin build flash-attn --plan --offline --anyway --jobs 2 --python {python}")
    return story


def _launcher(machine: Machine) -> str:
    """The tritonwin.exe that pip puts on PATH."""
    words, _ = machine.lane.command()
    return f"@{subprocess.list2cmdline([words[0], '-B', *words[1:]])} %*\r\n"


def received(sent: Path) -> Story:
    """(c), on Linux; `sent` holds comfyui.log and report.json."""
    story = Story("maintainer", "A maintainer, another system, two files")
    story.tell(
        "The maintainer has a Linux machine, Ada's `comfyui.log` and her `report.json`, made before "
        "the repair. The log alone:"
    )
    folder = Path(sys.executable).parent
    # a command that is not on PATH is spoken of by its whole path
    environment = {**os.environ, "PATH": os.pathsep.join((str(folder), os.environ["PATH"]))}
    for words in (
        "explain comfyui.log",
        "explain comfyui.log --snapshot report.json",
        "doctor --snapshot report.json",
    ):
        if "--snapshot" in words and words.startswith("explain"):
            story.tell("The log with the facts:")
        elif words.startswith("doctor"):
            story.tell("The facts alone, as doctor saw them there:")
        done = subprocess.run(
            [folder / "tritonwin", *words.split()],
            cwd=sent, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            check=False, env=environment,
        )  # fmt: skip
        story.show("$ tritonwin ", words, done.stdout, done.returncode)
    return story


def wheels(lane: Lane, machine: Machine, folder: Path) -> Path:
    """The wheels of the repair: real ones, and a stand-in for torch's CUDA build."""
    folder.mkdir()
    for file in Packages(lane.cache).wheels("3.12", ("triton-3.8", "pip")).glob("*.whl"):
        shutil.copyfile(file, folder / file.name)
    standins.cuda_torch_wheel(folder, "3.12", machine.fakes, TORCH, "13.0")
    return folder


def told(lane: Lane, work: Path) -> list[Story]:
    """The three stories, as they go now."""
    pyz = work / "tritonwin.pyz"
    build_pyz.build(pyz)
    with Machine(lane) as machine:
        first, sent = repaired(machine, pyz, wheels(lane, machine, work / "wheels"))
        kept = shutil.copytree(sent, work / "sent", copy_function=shutil.copyfile)
    with Machine(lane) as machine:
        second = planned(machine)
    return [first, second, received(kept)]


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
