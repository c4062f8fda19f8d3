"""The lines of the pages of applications, as they stand there, typed into cmd."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import build_site
import pytest
import site_pages
from winlane import Machine
from winlane.cache import copy_tree


def lines(page: str, command: str) -> Iterator[str]:
    """The lines of an application's page that give tritonwin this command."""
    (app,) = (app for app in build_site.site()["app"] if app["page"] == page)
    wanted = re.compile(rf"^    (.*tritonwin\.pyz {command}\b.*)$", re.MULTILINE)
    return iter(wanted.findall(site_pages.app_page(app)))


@pytest.mark.full
@pytest.mark.parametrize("page", ["comfyui-portable", "framepack"])
def test_lines_of_a_page(machine: Machine, pyz: Path, page: str) -> None:
    env = machine.environment("3.12", "comfyui", ["triton-3.8"])
    app = env.root / "ComfyUI_windows_portable"
    home = app / "python_embeded"
    if page == "framepack":
        app, home = env.root / "framepack", env.root / "framepack" / "system" / "python"
        copy_tree(env.home, home)
    shutil.copyfile(pyz, app / pyz.name)
    machine.gpu()
    machine.variables["TRITONWIN_HOME"] = r"C:\tritonwin home"
    (line,) = lines(page, "doctor")
    done = machine.start(f'cmd /d /s /c "{line}"', cwd=app, timeout=120)
    assert done.returncode in (0, 1), done
    assert env.win(home / "python.exe").lower() in done.stdout.lower()
    assert "[embedded-python-no-headers]" in done.stdout
    for line in lines(page, "run"):
        machine.start(f'cmd /d /s /c "{line}"', cwd=app, timeout=120).check()
        started = machine.start('cmd /d /s /c ".\\start.bat < nul"', cwd=app, timeout=120)
        assert "ComfyUI stand-in" in started.stdout
