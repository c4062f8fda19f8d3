from __future__ import annotations

from pathlib import Path

import pytest
from installed import install, target
from trees import plant, write

from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.records import Torch
from tritonwin.facts.toolchain.rocm import torch_chips
from tritonwin.facts.torch_triton import read_torch

VERSION_PY = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '2.9.1+cu128'
debug = False
cuda: Optional[str] = '12.8'
hip: Optional[str] = None
"""
LINUX = 'platform_system == "Linux" and platform_machine == "x86_64"'


def seen(*sites: Path) -> Torch | None:
    python = target(*sites)
    return read_torch(python, read_distributions(python))


def read(*sites: Path) -> Torch:
    found = seen(*sites)
    assert found is not None
    return found


def torch(site: Path, version_py: str = VERSION_PY) -> Path:
    return write(site, {"torch/__init__.py": "", "torch/version.py": version_py})


def test_a_cuda_build_with_its_wanted_triton(tmp_path: Path) -> None:
    info = install(torch(tmp_path), "torch", "2.9.1", requires=[f"triton==3.5.1; {LINUX}"])
    plant(
        tmp_path / "torch" / "lib",
        "c10_cuda.dll",
        "cudart64_12.dll",
        "c10.dll",
        "uv.dll",
        "cudart.lib",
    )
    found = read(tmp_path)
    assert (found.version, found.cuda, found.hip, found.xpu) == ("2.9.1+cu128", "12.8", None, None)
    assert found.location == str(tmp_path / "torch")
    assert found.source == str(tmp_path / "torch" / "version.py")
    assert found.wants_triton == "==3.5.1"
    assert str(info) in (found.wants_triton_source or "")


@pytest.mark.parametrize(
    ("requires", "wanted"),
    [
        (["triton~=3.8.0"], "~=3.8.0"),
        (["pytorch-triton==3.3.0+git96316ce5; " + LINUX], "==3.3.0+git96316ce5"),
        (["pytorch-triton-xpu==3.4.0", "triton==3.5.1"], "==3.5.1"),
        (["triton-windows<3.6,>=3.5"], "<3.6,>=3.5"),
        (["triton ==; broken"], None),
        (["triton"], None),
        ([], None),
    ],
)
def test_the_wanted_triton(tmp_path: Path, requires: list[str], wanted: str | None) -> None:
    install(torch(tmp_path), "torch", "2.9.1", requires=requires)
    found = read(tmp_path)
    assert found.wants_triton == wanted
    assert (found.wants_triton_source is None) == (wanted is None)


def test_a_folder_without_metadata_is_still_torch(tmp_path: Path) -> None:
    found = read(torch(tmp_path))

    assert (found.version, found.wants_triton) == ("2.9.1+cu128", None)


def test_a_damaged_version_file_leaves_the_version_to_the_metadata(tmp_path: Path) -> None:
    install(torch(tmp_path, "__version__ = ("), "torch", "2.9.1")
    found = read(tmp_path)
    assert (found.version, found.source) == ("2.9.1", str(tmp_path / "torch"))


@pytest.mark.parametrize("files", [{}, {"torch/lib/old.dll": "x"}, {"torch/__init__.py": ""}])
def test_no_torch(tmp_path: Path, files: dict[str, str]) -> None:
    assert seen(write(tmp_path, files)) is None


def test_metadata_without_a_folder_is_no_torch(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.9.1")

    assert seen(tmp_path) is None


def test_metadata_of_another_folder_does_not_count(tmp_path: Path) -> None:
    torch(tmp_path / "first")
    install(tmp_path / "second", "torch", "2.1.0", requires=["triton==2.1.0"])
    found = read(tmp_path / "first", tmp_path / "second")
    assert found.wants_triton is None


def test_the_chips_of_amds_torch_are_those_of_its_parts(tmp_path: Path) -> None:
    plant(tmp_path, "amd_torch_device_gfx1201-2.12.0+rocm7.13.0.dist-info/METADATA")
    assert torch_chips(tmp_path) == ("gfx1201",)
