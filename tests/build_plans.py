"""A plan of a small build, and its source laid down, for tests of what carries plans out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tritonwin.build import source
from tritonwin.build.records import GIB, BuildPlan, BuildSource, CompilerMemory
from tritonwin.build.source import BuildContext
from tritonwin.support.pip import Pip
from tritonwin.system.host import Host

NOBODY = BuildContext(pip=lambda: Pip(("/nowhere",)), offline=True)


def plan(root: Path, **fields: Any) -> BuildPlan:
    made = BuildPlan(
        recipe="cuda-extension",
        distribution="x",
        version="1.0",
        source=BuildSource(kind="folder", location=str(root / "mine")),
        root=str(root),
        target=sys.executable,
        python="3.12.9",
        windows=False,
        torch=None,
        torch_cuda=None,
        archs=("9.0",),
        cuda=None,
        toolset=None,
        cpp_standard=None,
        jobs=8,
        memory=CompilerMemory(
            free=None, reserve=0, base=GIB, compiler=GIB, together=0.5, bound=9 * GIB, expected=GIB
        ),
        disk_bytes=GIB,
        seconds=None,
        environment={"MAX_JOBS": "8"},
        job_variables=("MAX_JOBS",),
        command=("setup.py", "bdist_wheel"),
    )
    return replace(made, **fields)


def laid_down(root: Path, *, edits: Any = (), **of_source: Any) -> BuildPlan:
    """The plan of a build below `root`, with its source in its folder."""
    made = plan(root, source=BuildSource(**of_source), edits=edits)
    made.layout.root.mkdir(parents=True, exist_ok=True)
    source.prepare(made, replace(NOBODY, host=Host.this_machine()))
    return made
