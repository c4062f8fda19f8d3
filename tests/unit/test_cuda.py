"""Readers of CUDA toolkits; the finder's scenes are in test_finders.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import CORPUS
from hosts import fake_host
from hypothesis import given
from hypothesis import strategies as st
from installed import rooted
from trees import write

from tritonwin.facts.records import CudaToolkit
from tritonwin.facts.toolchain import cuda
from tritonwin.facts.toolchain.cuda import find_cuda_toolkits
from tritonwin.facts.toolchain.parts import parts
from tritonwin.system import toml


def find(tmp: Path) -> CudaToolkit:
    host = fake_host(tmp, {"CUDA_PATH": str(tmp / "cuda")})
    (found,) = find_cuda_toolkits(rooted(tmp), host)
    return found


def test_folders_in_the_place_of_files(tmp_path: Path) -> None:
    names = toml.loads((CORPUS / "finders.toml").read_text("utf-8"))["sets"]["cuda"]
    for name in names:
        (tmp_path / "cuda" / name).mkdir(parents=True)
    toolkit = find(tmp_path)
    assert toolkit.missing == parts().cuda.kernel + parts().cuda.build


@given(content=st.binary(max_size=200))
def test_readers_never_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(content)
    assert cuda.header_version(path) is None or b"CUDA_VERSION" in content
    assert cuda.banner_version(path) is None or b"release" in content
    assert cuda.newest_host_msvc(path) is None or b"_MSC_VER" in content


@given(major=st.integers(10, 30), minor=st.integers(0, 12))
def test_header_and_banner_agree(
    tmp_path_factory: pytest.TempPathFactory, major: int, minor: int
) -> None:
    folder = tmp_path_factory.getbasetemp()
    version = f"{major}.{minor}"
    header = f"#define CUDA_VERSION {major * 1000 + minor * 10}\n"
    write(folder, {"cuda.h": header, "ptxas": f"\0tools, release {version}, V{version}.1\0"})
    assert cuda.header_version(folder / "cuda.h") == version
    assert cuda.banner_version(folder / "ptxas") == version
