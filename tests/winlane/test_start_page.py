"""The lines of docs/index.md, as they stand there, typed into cmd."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import build_pyz
import pytest
from winlane import Machine
from winlane.cache import copy_tree

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "index.md").read_text("utf-8")


def lines(section: str, command: str) -> Iterator[str]:
    """The lines of a section that give tritonwin this command."""
    text = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
    wanted = re.compile(rf"^    (.*tritonwin\.pyz {command}.*)$", re.MULTILINE)
    return iter(wanted.findall(text))


@pytest.mark.full
@pytest.mark.parametrize("section", ["ComfyUI, portable", "FramePack"])
def test_lines_of_the_start_page(machine: Machine, tmp_path: Path, section: str) -> None:
    env = machine.environment("3.12", "comfyui", ["triton-3.8"])
    app = env.root / "ComfyUI_windows_portable"
    home = app / "python_embeded"
    if section == "FramePack":
        app, home = env.root / "framepack", env.root / "framepack" / "system" / "python"
        copy_tree(env.home, home)
    file = tmp_path / "tritonwin.pyz"
    build_pyz.build(file)
    shutil.copyfile(file, app / file.name)
    machine.gpu()
    machine.variables["TRITONWIN_HOME"] = r"C:\tritonwin home"
    (line,) = lines(section, "doctor")
    done = machine.start(f'cmd /d /s /c "{line}"', cwd=app, timeout=120)
    assert done.returncode in (0, 1), done
    assert env.win(home / "python.exe").lower() in done.stdout.lower()
    assert "[embedded-python-no-headers]" in done.stdout
    # what is printed can be typed there as it is
    printed = re.search(r"^ {6}(.*tritonwin\.pyz fix.*)$", done.stdout, re.MULTILINE)
    assert printed, done.stdout
    done = machine.start(f'cmd /d /s /c "{printed[1]} < nul"', cwd=app, timeout=300)
    assert done.returncode == 1, done
    assert "Changes to" in done.stdout or "not solved" in done.stdout
    for line in lines(section, "run"):
        machine.start(f'cmd /d /s /c "{line}"', cwd=app, timeout=120).check()
        started = machine.start('cmd /d /s /c ".\\start.bat < nul"', cwd=app, timeout=120)
        assert "ComfyUI stand-in" in started.stdout
