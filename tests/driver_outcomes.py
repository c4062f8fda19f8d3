"""Outcomes of tests/driver/calls.py on this system: the driver compiled by gcc, or in Python."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from triton_trees import sources

ROOT = Path(__file__).resolve().parents[1]
FAKES = ROOT / "tools" / "winlane" / "fakes"
# upstream's releases whose calls are compared
UPSTREAM = (
    "3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0",
)  # fmt: skip
# of each backend: the stand-in of the driver, and the variable that names its log
STAND_INS = {
    "nvidia": ("nvcuda.c", "libcuda.so.1", "FAKECUDA_LOG"),
    "amd": ("amdhip64.c", "libamdhip64.so", "FAKEHIP_LOG"),
}


def stand_in(folder: Path, backend: str) -> Path:
    """The stand-in of the driver, compiled into the folder if it is not there."""
    source, name, _ = STAND_INS[backend]
    library = folder / name
    if not library.exists():
        command = ["/usr/bin/gcc", "-O1", "-w", "-shared", "-fPIC", "-o", library, FAKES / source]
        subprocess.run([*command, "-ldl"], check=True, timeout=60)
    return library


@functools.cache
def outcomes(
    version: str, mode: str, folder: Path, backend: str = "nvidia", package: Path | None = None
) -> list[Any]:
    """The result or error of each call, and the driver's log.

    Args:
        mode: compiled or python.
        package: the release's sources, where they were changed.
    """
    library, log = stand_in(folder, backend), STAND_INS[backend][2]
    scratch = folder / f"{backend}-{version}-{mode}{'-changed' if package else ''}"
    scratch.mkdir()
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "driver" / "calls.py", backend,
         package or sources(version), mode, scratch / "c", library],
        env={**os.environ, log: str(scratch / "log"), "LD_LIBRARY_PATH": str(folder),
             "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "driver")])},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[Any] = json.loads(done.stdout)
    return found


def compiled_outcomes(version: str, folder: Path, backend: str = "nvidia") -> list[Any]:
    """The outcomes of the module that gcc compiles here; skips where it cannot."""
    need_gcc()
    return outcomes(version, "compiled", folder, backend)


def need_gcc() -> None:
    """Skip where nothing can be compiled."""
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if not Path("/usr/bin/gcc").exists() or not headers.exists():
        pytest.skip("gcc or Python's headers are not here")
