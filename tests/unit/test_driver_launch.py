"""The driver in Python does what the module does that Triton compiles, call by call.

Triton's real sources are compiled by gcc against a stand-in of NVIDIA's driver that writes down
every launch: grid, block, shared memory, stream, attributes and the bytes of each parameter.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from driver_outcomes import UPSTREAM, need_gcc, outcomes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs gcc and a libcuda.so.1")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_gcc()
    return tmp_path_factory.mktemp("driver")


@pytest.mark.parametrize(
    "version",
    [
        v if v in ("3.2.0", "3.6.0", "3.9.0") else pytest.param(v, marks=pytest.mark.full)
        for v in UPSTREAM
    ],
)
@pytest.mark.parametrize(("backend", "least"), [("nvidia", 250), ("amd", 200)])
def test_every_call_is_the_compiled_modules_call(
    version: str, folder: Path, backend: str, least: int
) -> None:
    compiled = outcomes(version, "compiled", folder, backend)
    python = outcomes(version, "python", folder, backend)
    assert [name for name, *_ in compiled] == [name for name, *_ in python]
    assert [(c, p) for c, p in zip(compiled, python, strict=True) if c != p] == []
    assert len(compiled) > least
    launches = [line for *_, seen in python for line in seen if '"launch"' in line]
    assert len(launches) > 100


def test_the_compiler_is_not_asked(folder: Path) -> None:
    names = [name for name, *_ in outcomes("3.6.0", "python", folder, "nvidia")]
    assert {"70 arguments 2", "no arguments 0", "threads", "wrong *fp32 'x' 0"} <= set(names)
