"""The driver in Python does what the module does that Triton compiles, call by call.

Triton's real sources are compiled by gcc against a stand-in of NVIDIA's driver that writes down
every launch: grid, block, shared memory, stream, attributes and the bytes of each parameter.
"""

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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FAKE = ROOT / "tools" / "winlane" / "fakes" / "nvcuda.c"
EVERY = ("3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0")
ALWAYS = ("3.2.0", "3.6.0", "3.9.0")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs gcc and a libcuda.so.1")


@functools.cache
def _outcomes(version: str, mode: str, folder: Path) -> list[Any]:
    scratch = folder / f"{version.replace(':', '-')}-{mode}"
    scratch.mkdir()
    library = folder / "libcuda.so.1"
    if not library.exists():
        command = ["/usr/bin/gcc", "-O1", "-shared", "-fPIC", "-o", library, FAKE]
        subprocess.run(command, check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "driver" / "calls.py", sources(version), mode,
         scratch / "c", library],
        env={**os.environ, "FAKECUDA_LOG": str(scratch / "log"), "LD_LIBRARY_PATH": str(folder),
             "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "driver")])},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    headers = Path(sysconfig.get_path("include"), "Python.h")
    if not Path("/usr/bin/gcc").exists() or not headers.exists():
        pytest.skip("gcc or Python's headers are not here")
    return tmp_path_factory.mktemp("driver")


@pytest.mark.parametrize(
    "version",
    [v if v in ALWAYS else pytest.param(v, marks=pytest.mark.full) for v in EVERY],
)
def test_every_call_is_the_compiled_modules_call(version: str, folder: Path) -> None:
    compiled = _outcomes(version, "compiled", folder)
    python = _outcomes(version, "python", folder)
    assert [name for name, *_ in compiled] == [name for name, *_ in python]
    assert [(c, p) for c, p in zip(compiled, python, strict=True) if c != p] == []
    assert len(compiled) > 250
    launches = [line for *_, seen in python for line in seen if '"launch"' in line]
    assert len(launches) > 100


def test_the_compiler_is_not_asked(folder: Path) -> None:
    names = [name for name, *_ in _outcomes("3.6.0", "python", folder)]
    assert {"70 arguments 2", "no arguments 0", "threads", "wrong *fp32 'x' 0"} <= set(names)
