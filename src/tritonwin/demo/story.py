"""Stories of the demo: facts of one machine, and the problem that doctor must name.

Shipped ones are snapshots. Live ones, on Windows: a copy of a small Python is broken, and doctor
explains it.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from tritonwin.facts import snapshot
from tritonwin.facts.collect import collect
from tritonwin.facts.records import Facts
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.problems.records import Diagnosis
from tritonwin.system.host import Environment, Host, merged
from tritonwin.system.scratch import scratch_folder

HEALTHY = ""


@dataclass(frozen=True)
class Story:
    """`expects` is the id of the problem, `HEALTHY` for a machine on which all is well.

    With `first`, no graver problem may stand before it; without, it must be among those found:
    on a machine that we did not set up, other things may be wrong as well.
    """

    title: str
    expects: str
    facts: Facts
    first: bool = True

    def diagnosis(self) -> Diagnosis:
        return diagnose(self.facts, CHECKS)

    def kept(self, diagnosis: Diagnosis) -> bool:
        """True if doctor said what the story promises."""
        if self.expects == HEALTHY:
            return diagnosis.healthy
        found = [p.id for p in diagnosis.problems]
        return self.expects in (found[:1] if self.first else found)


def shipped() -> Iterator[Story]:
    """Stories from snapshots of real Windows Pythons, as `tools/make_demo.py` recorded them."""
    folder = files("tritonwin.demo").joinpath("snapshots")
    listed: list[dict[str, Any]] = json.loads(folder.joinpath("index.json").read_text("utf-8"))
    for entry in listed:
        with as_file(folder.joinpath(entry["file"])) as path:
            yield Story(entry["title"], entry["expects"], snapshot.read(path))


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
