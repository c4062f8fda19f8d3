"""Every line to copy that starts tritonwin, on every page of the site, is run as it stands there.

Places of Windows become places of a folder that holds an environment, wheels, logs and sources; no
network is reached, questions get no answer. `<!-- not run: REASON -->` above a block leaves it out.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import build_site
import healthy
import pytest
from pe_files import pe_file
from target_env import TargetEnvironment, give_pip, make_environment
from wheel_files import make_wheel

from tritonwin.cli.app import run
from tritonwin.facts import collect, snapshot
from tritonwin.facts.redaction.identity import Identity

PAGES = build_site.pages() | {"README.md": (build_site.ROOT / "README.md").read_text("utf-8")}
_STARTED = re.compile(
    r"(?:\S*python(?:\.exe)? |py |uv run --no-sync python |uvx |.* \| |.*\$\()?"
    r"(?:\S*[\\/])?tritonwin(?:\.pyz|\.bat)? +(?P<words>[a-z-].*)"
)
_OTHER = re.compile(
    r"^ *(?:PYTHONPATH=\S+ )?(?:python3?|py|pip|uvx?|conda|git|bash|certutil|winget|\S*/python) [^ =:]"
)
_NOT_RUN = re.compile(r"<!-- not run: .{10,} -->")
SAGE = "sageattn3-1.0.0+cu130torch291-cp313-cp313-win_amd64.whl"


def blocks(page: str) -> Iterator[tuple[str, bool]]:
    """The lines of its code, and whether they are to be run."""
    fenced, runs = False, True
    for line in page.splitlines():
        if _NOT_RUN.search(line):
            runs = False
        elif line.lstrip().startswith("```"):
            fenced = not fenced
            runs |= not fenced
        elif fenced or re.match(r" {4,}\S", line):
            yield line, runs
        elif line.strip():
            runs = True


def commands(page: str) -> Iterator[tuple[str, bool]]:
    for line, runs in blocks(page):
        found = _STARTED.match(re.sub(r"^ *(?:(?:[A-Z]:\\\S*)?>|\$)? *", "", line))
        # a sentence, or the usage in a help
        if found and not re.search(r"\[OPTIONS\]|[.;`]$|\. ", found["words"]):
            yield re.split(r" {2,}|\)| (?:\|\||[|>#]) | 2>", found["words"])[0], runs


# what a line needs that another one makes, or that no machine of the tests has
NEEDS = {
    "install": "a place could not be read",  # no network is here
    "build flash-attn --arch 8.9 --script": "a plan that is refused",
    "build flash-attn --resume": "no build was begun",
    "guard on": "was not proven yet",
    "undo 2": "there is no journal",
    "undo JOURNAL": "there is no journal",
    "undo": "changed nothing",
}
LINES = {command for text in PAGES.values() for command, runs in commands(text) if runs}
LEFT = {command for text in PAGES.values() for command, runs in commands(text) if not runs}


def test_lines_to_copy_are_found() -> None:
    assert len(LINES) > 200
    assert {"doctor", "fix", "verify", "explain -", "guard status"} <= LINES
    assert len(LEFT) < 12, LEFT


@pytest.mark.parametrize("page", sorted(PAGES))
def test_commands_of_others_are_marked(page: str) -> None:
    others = [
        line for line, runs in blocks(PAGES[page]) if runs and _OTHER.match(line)
        and not _STARTED.match(line.strip())
    ]  # fmt: skip
    assert others == []


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, pip_program: Path
) -> Iterator[Callable[[str], list[str]]]:
    """A folder with all that pages speak of; gives the words of a command in it."""
    top = tmp_path_factory.mktemp("world")
    app = top / "app"
    target = make_environment(app / "venv", pip_program)
    give_pip(target, pip_program)
    target.install("triton-3.5.1-py3-none-any.whl")
    triton = target.site_packages / "triton"
    (triton / "runtime").mkdir(exist_ok=True)
    (triton / "runtime" / "build.py").touch()
    make_wheel(top / "wheels", SAGE)
    for name in ("my_kernels", "triton", "triton-windows", "llvm", "json"):
        (top / name).mkdir()
        (top / name / "setup.py").touch()
    (top / "libtriton.pyd").write_bytes(pe_file("nowhere.dll"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(written(top))
        for name in [n for n in os.environ if n.startswith("PIP_")]:
            patch.delenv(name)
        patch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            patch.setenv(name, "http://127.0.0.1:9")
        patch.setenv("PIP_RETRIES", "0")
        patch.setenv("TRITONWIN_HOME", str(top / "home"))
        patch.setenv("VIRTUAL_ENV", str(app / "venv"))
        patch.setenv("PATH", f"{target.python.parent}{os.pathsep}{os.environ['PATH']}")
        real = collect.collect
        known = cache(lambda python, app: real(python=python, app=app))
        patch.setattr(collect, "collect", lambda **o: known(o.get("python"), o.get("app")))
        yield lambda command: [
            placed(word, top, target) for word in shlex.split(command.replace("\\", "/"))
        ]


def written(top: Path) -> Path:
    """The folder in which commands are typed."""
    here = top / "here"
    (here / "wheel" / "triton" / "_C").mkdir(parents=True)
    for name in ("wheel/triton/_C/libtriton.pyd", "flash_attn_2_cuda.cp312-win_amd64.pyd"):
        (here / name).write_bytes(pe_file("nowhere.dll"))
    for name in ("error.log", "build.log", "comfyui.log", "issue.md", "LOG"):
        (here / name).write_text("main.c:1: error: include file 'Python.h' not found\n")
    for name in ("report.json", "tritonwin-report.json"):
        snapshot.write(healthy.changed(triton=None), here / name, Identity())
    (here / "wheels.json").write_text('{"schema": "tritonwin.wheels/1", "wheels": []}')
    (here / "wheels").mkdir()
    (here / "ComfyUI").mkdir()
    for name in ("main.py", "ComfyUI/main.py"):
        (here / name).write_text("print('started')\n")
    return here


def placed(word: str, top: Path, target: TargetEnvironment) -> str:
    """The stand-in for a place on a PC; other words stay."""
    if word == "PACKAGE":
        return "sageattention"
    if word == "PYTHON" or word.endswith("python.exe"):
        return str(target.python)
    if not re.match(r"[A-Z]:/", word):
        return word
    name = word.rpartition("/")[2]
    if name == "triton" and "site-packages" in word:
        return str(target.site_packages / "triton")
    here = top / ("wheels/" + name if name.endswith(".whl") else name)
    return str(here if here.exists() else top / "app")


@pytest.mark.parametrize("command", sorted(LINES))
def test_a_line_to_copy_runs(
    world: Callable[[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """It is understood, and finds all that it needs: neither wrong use nor a failure of tritonwin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"error: Python.h not found\n")))
    words = world(command)
    status = run(words)
    said = capsys.readouterr()
    if words[0] in {"fix", "install", "patch", "driver"}:  # the next line finds it as before
        run(["undo", "--yes"])
    needed = next((why for begin, why in NEEDS.items() if command.startswith(begin)), None)
    assert status in (0, 1) or (needed and needed in said.out + said.err), said
