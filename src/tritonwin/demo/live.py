"""Live stories on Windows: a copy of a small Python is broken, and doctor explains it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tritonwin.demo.story import Story
from tritonwin.facts.collect import collect
from tritonwin.system.host import Environment, Host, merged
from tritonwin.system.scratch import scratch_folder


@contextmanager
def small_python() -> Iterator[Path]:
    """A Python of its own in a temporary folder, gone afterwards; yields its python.exe."""
    with scratch_folder() as root:
        home = root / "python_embeded"
        base = Path(sys.base_prefix)
        if any(base.glob("python3*.zip")):
            # the embeddable package is flat, and it has no venv: its top-level files are all of it
            home.mkdir()
            for file in base.iterdir():
                if file.is_file():
                    shutil.copyfile(file, home / file.name)
            yield home / "python.exe"
        else:
            import venv

            venv.create(home, with_pip=False, symlinks=False)
            yield home / "Scripts" / "python.exe"


def stories(python: Path) -> Iterator[Story]:
    """Break the copy in one way after the other; each facts are read while it is broken."""
    host = Host.this_machine()
    work = python.parent / "work"
    work.mkdir()
    here = replace(host, cwd=work)
    yield _story("a Python without Triton", "triton-missing", python, here)
    (work / "triton.py").write_text("print('my first kernel')\n", encoding="utf-8")
    yield _story("a script named triton.py", "script-shadows-triton", python, here)
    wrong = replace(host, env=Environment(merged(host.env.data, {"CC": str(work)})))
    yield _story("the variable CC names a folder", "cc-variable-wrong", python, wrong)


def _story(title: str, expects: str, python: Path, host: Host) -> Story:
    return Story(title, expects, collect(python=str(python), host=host), first=False)
