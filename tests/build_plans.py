"""A plan of a small build, for tests of what carries plans out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tritonwin.build.plan import GIB, BuildPlan, BuildSource, CompilerMemory


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
        nvcc_threads=1,
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
