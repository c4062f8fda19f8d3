"""Real virtual environments of the Python that runs the tests, for tests that start one."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class VirtualEnvironment:
    folder: Path
    python: Path
    site_packages: Path


def make_venv(folder: Path) -> VirtualEnvironment:
    """A virtual environment without pip; skips the test where Python has no `venv` module."""
    if importlib.util.find_spec("venv") is None:
        pytest.skip("the embedded Python of Windows has no venv module")
    import venv

    windows = sys.platform == "win32"
    venv.EnvBuilder(with_pip=False, symlinks=not windows).create(folder)
    minor = f"python3.{sys.version_info[1]}"
    return VirtualEnvironment(
        folder=folder,
        python=folder / ("Scripts/python.exe" if windows else "bin/python"),
        site_packages=folder / ("Lib/site-packages" if windows else f"lib/{minor}/site-packages"),
    )
