"""The first minutes of somebody who is no programmer: what is printed can be typed, and is short."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import lane_stories
import pytest
from lane_stories import PLOTS, Plot
from winlane import Environment, Machine
from winlane.process import Result

ROOT = Path(__file__).resolve().parents[2]
START = r".\python_embeded\python.exe tritonwin.pyz"
LOGS = {
    "certain": "compiled_autograd.h(1): error C2872: 'std': ambiguous symbol",
    "possible": "RuntimeError: 0 active drivers ([]). There should only be one.",
    "unknown": "ValueError: no idea",
}


@dataclass
class Prompt:
    """A Command Prompt in the application's folder, and what its user reads and types.

    Attributes:
        words: that were to be read.
        keys: that were to be pressed.
        seconds: that the machine took.
    """

    machine: Machine
    folder: Path
    words: int = 0
    keys: int = 0
    seconds: float = 0
    steps: list[str] = field(default_factory=list)

    def read(self, text: str) -> None:
        self.words += len(text.split())

    def type(self, command: str, answer: str = "") -> Result:
        began = time.monotonic()
        done = self.machine.start(
            f'cmd /d /s /c "{command}"', cwd=self.folder, timeout=600, input=answer
        )
        took = time.monotonic() - began
        self.seconds += took
        self.keys += len(command) + 1 + len(answer)
        self.read(done.stdout)
        self.steps.append(f"{len(done.stdout.split()):4} words, {took:5.1f} s: {command}")
        return done


def staged(machine: Machine, plot: Plot, pyz: Path) -> tuple[Environment, Prompt]:
    env = lane_stories.stage(machine, plot)
    app = env.root / "ComfyUI_windows_portable"
    shutil.copyfile(pyz, app / "tritonwin.pyz")
    machine.variables["TRITONWIN_HOME"] = r"C:\tritonwin home"
    machine.variables |= {"PIP_RETRIES": "0", "PIP_DEFAULT_TIMEOUT": "2"}  # there is no network
    return env, Prompt(machine, app)


def commands(printed: str) -> Iterator[str]:
    """The commands to copy: alone in an indented line, or behind a colon."""
    for line in printed.splitlines():
        if found := re.fullmatch(r"[^:]*: (\.\\\S*python\.exe .*)| {6}(\S.*)", line):
            yield found[1] or found[2]


@pytest.mark.parametrize(
    "plot",
    [
        pytest.param(p, id=p.file[:-5], marks=[pytest.mark.full] * (n != 1))
        for n, p in enumerate(PLOTS)
    ],
)
def test_what_doctor_prints_runs_as_printed(machine: Machine, pyz: Path, plot: Plot) -> None:
    _, prompt = staged(machine, plot, pyz)
    done = prompt.type(f"{START} doctor")
    found = list(dict.fromkeys(commands(done.stdout)))
    assert f"{START} fix" in found or any(" -m pip " in c for c in found) or not done.returncode
    for command in found:
        understood(prompt, command)


@pytest.mark.full
@pytest.mark.parametrize("log", LOGS)
def test_what_explain_and_verify_print_runs_as_printed(
    machine: Machine, pyz: Path, log: str
) -> None:
    env, prompt = staged(machine, PLOTS[0], pyz)
    (prompt.folder / "comfyui.log").write_text(LOGS[log], encoding="utf-8")
    found = [*commands(prompt.type(f"{START} explain comfyui.log").stdout)]
    if log == "certain":  # a rung that fails names the problem that it looks like
        shutil.rmtree(env.home / "Include")
        said = prompt.type(f"{START} verify --through headers-and-library").stdout
        found += [command for command in commands(said) if command.startswith(START)]
        assert len(found) > 1, said
    for command in dict.fromkeys(found):
        if command != "nvidia-smi":  # the lane's driver comes without it
            understood(prompt, command)


def understood(prompt: Prompt, command: str) -> None:
    """cmd finds the program, and the program takes what it is told; the answer is no."""
    done = prompt.type(command, "n\n")
    assert done.returncode in (0, 1), (command, done)
    assert "not recognized" not in done.stderr, done
    assert not re.search(r"usage:|no such option|unrecognized", done.stderr, re.IGNORECASE), done


READS, TYPES = 200 / 60, 150 / 60  # words and keys a second


def test_from_the_download_to_the_proof_in_three_minutes(machine: Machine, pyz: Path) -> None:
    """ComfyUI's portable Python without headers; the page's words and every word printed count."""
    _, prompt = staged(machine, PLOTS[1], pyz)
    home = machine.home("Ada")
    machine.register_python(
        machine.environment("3.12", "full", where=rf"{home}\AppData\Local\Programs\Python")
    )
    page = (ROOT / "README.md").read_text("utf-8").partition("## ComfyUI")[2].partition("\n## ")[0]
    prompt.read(page)
    prompt.steps.append(f"{prompt.words:4} words of the README")
    assert prompt.type(f"{START} doctor").returncode == 1
    done = prompt.type(f"{START} fix", "y\n")
    assert (done.returncode, "Proven: it works now." in done.stdout) == (0, True), done
    reading, typing = prompt.words / READS, prompt.keys / TYPES
    print("", *prompt.steps, sep="\n")
    print(
        f"{prompt.words} words in {reading:.0f} s, {prompt.keys} keys in {typing:.0f} s, "
        f"the machine {prompt.seconds:.0f} s"
    )
    assert reading + typing <= 180
