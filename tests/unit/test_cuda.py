from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hosts import fake_host
from hypothesis import given
from hypothesis import strategies as st
from installed import rooted
from trees import plant, write

from tritonwin.facts.records import CudaToolkit
from tritonwin.facts.toolchain import cuda
from tritonwin.facts.toolchain.cuda import find_cuda_toolkits
from tritonwin.facts.toolchain.parts import parts

KERNEL = ("bin/ptxas.exe", "include/cuda.h", "lib/x64/cuda.lib")
SYSTEM = (
    *KERNEL,
    "bin/nvcc.exe",
    "nvvm/bin/cicc.exe",
    "lib/x64/cudart.lib",
    "include/crt/host_config.h",
)
CU12 = (
    "cuda_nvcc/bin/ptxas.exe",
    "cuda_runtime/include/cuda.h",
    "cuda_runtime/lib/x64/cuda.lib",
    "cuda_nvcc/include/crt/host_config.h",
)
HOST_CONFIG = """\
#if defined(_WIN32)
#if _MSC_VER < 1910 || _MSC_VER >= 1950
#error -- unsupported Microsoft Visual Studio version!
#endif
#if _MSC_VER >= 1500
#endif
"""
TOOLKITS = "NVIDIA GPU Computing Toolkit/CUDA"


def find(
    tmp: Path, env: Mapping[str, str] | None = None, *, windows: bool = True
) -> list[CudaToolkit]:
    host = fake_host(tmp, {"ProgramFiles": str(tmp / "pf"), **(env or {})}, windows=windows)
    inside = [t for t in find_cuda_toolkits(rooted(tmp), host) if t.source != "/usr/local"]
    assert sum(t.chosen for t in inside) <= 1
    return inside


def test_nothing_anywhere(tmp_path: Path) -> None:
    assert find(tmp_path) == []
    assert find_cuda_toolkits(None, fake_host(tmp_path)) == ()


@pytest.mark.parametrize(
    ("place", "files", "layout", "source"),
    [
        pytest.param(
            "Lib/site-packages/triton/backends/nvidia",
            KERNEL,
            "bundled",
            "bundled with Triton",
            id="bundled",
        ),
        pytest.param(
            "Lib/site-packages/nvidia", CU12, "pip-cu12", "wheels of CUDA 12", id="pip-cu12"
        ),
        pytest.param(
            "Library",
            ("bin/ptxas.exe", "include/cuda.h", "lib/cuda.lib", "../conda-meta/history"),
            "conda",
            "conda environment",
            id="conda",
        ),
        pytest.param(f"pf/{TOOLKITS}/v12.8", SYSTEM, "system", "Program Files", id="system"),
    ],
)
def test_each_layout_is_found_and_taken(
    tmp_path: Path, place: str, files: tuple[str, ...], layout: str, source: str
) -> None:
    plant(tmp_path / place, *files)
    (toolkit,) = find(tmp_path)
    assert (toolkit.path, toolkit.layout, toolkit.source) == (str(tmp_path / place), layout, source)
    assert toolkit.chosen
    assert not set(toolkit.missing) & set(parts().cuda.kernel)
    assert toolkit.ptxas
    assert toolkit.header
    assert toolkit.library


def test_order_is_tritons(tmp_path: Path) -> None:
    plant(tmp_path / "cuda-path", *SYSTEM)
    plant(tmp_path / "cuda-home", *SYSTEM)
    site = tmp_path / "Lib" / "site-packages"
    plant(site / "triton" / "backends" / "nvidia", *KERNEL)
    plant(site / "nvidia", *CU12)
    plant(site / "nvidia" / "cu13", *SYSTEM)
    plant(tmp_path, "conda-meta/history")
    plant(tmp_path / "Library", "bin/ptxas.exe", "include/cuda.h", "lib/cuda.lib")
    for version in ("v12.9", "v12.10", "v13.0", "v11.8"):
        plant(tmp_path / "pf" / TOOLKITS / version, *SYSTEM)
    plant(tmp_path / "on-path", *SYSTEM)
    found = find(
        tmp_path,
        {
            "CUDA_HOME": str(tmp_path / "cuda-home"),
            "CUDA_PATH": str(tmp_path / "cuda-path"),
            "PATH": str(tmp_path / "on-path" / "bin"),
        },
    )
    assert [t.source for t in found] == [
        "variable CUDA_PATH",
        "variable CUDA_HOME",
        "bundled with Triton",
        "wheels of CUDA 12",
        "wheels of CUDA 13",
        "conda environment",
        *["Program Files"] * 4,
        "nvcc on PATH",
    ]
    assert [Path(t.path).name for t in found[6:10]] == ["v13.0", "v12.10", "v12.9", "v11.8"]
    assert [t.chosen for t in found] == [True] + [False] * 10


def test_an_incomplete_toolkit_is_passed_over(tmp_path: Path) -> None:
    plant(tmp_path / "cuda", *(f for f in SYSTEM if "ptxas" not in f))
    plant(tmp_path / "Lib/site-packages/triton/backends/nvidia", *KERNEL)
    first, second = find(tmp_path, {"CUDA_PATH": str(tmp_path / "cuda")})
    assert (first.missing, first.chosen) == (("ptxas",), False)
    assert second.chosen


@pytest.mark.parametrize("is_file", [False, True])
def test_a_variable_that_names_no_folder_is_listed(tmp_path: Path, is_file: bool) -> None:
    if is_file:
        plant(tmp_path, "gone")
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / "gone")})
    assert (toolkit.exists, toolkit.chosen) == (False, False)


def test_quotes_hide_the_toolkit_from_triton_but_not_from_us(tmp_path: Path) -> None:
    plant(tmp_path / "cuda", *SYSTEM)
    (toolkit,) = find(tmp_path, {"CUDA_PATH": f'"{tmp_path / "cuda"}"'})
    assert (toolkit.exists, toolkit.chosen) == (True, False)


def test_wheels_of_cuda_13_are_taken_only_by_name(tmp_path: Path) -> None:
    place = plant(tmp_path / "Lib/site-packages/nvidia/cu13", *SYSTEM)
    (toolkit,) = find(tmp_path)
    assert (toolkit.layout, toolkit.chosen) == ("pip-cu13", False)
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(place)})
    assert (toolkit.layout, toolkit.chosen, toolkit.source) == (
        "pip-cu13",
        True,
        "variable CUDA_PATH",
    )


def test_the_same_folder_is_listed_once(tmp_path: Path) -> None:
    place = plant(tmp_path / "pf" / TOOLKITS / "v12.8", *SYSTEM)
    env = {"CUDA_PATH": str(place), "CUDA_HOME": f"{place}/", "PATH": str(place / "bin")}
    (toolkit,) = find(tmp_path, env)
    assert toolkit.source == "variable CUDA_PATH"


def test_what_comes_with_triton_need_not_build_anything(tmp_path: Path) -> None:
    plant(tmp_path / "Lib/site-packages/triton/backends/nvidia", *KERNEL)
    plant(tmp_path / "pf" / TOOLKITS / "v12.8", *KERNEL)
    bundled, system = find(tmp_path)
    assert bundled.missing == ()
    assert system.missing == parts().cuda.build


def test_another_packages_backend_folder_is_no_toolkit(tmp_path: Path) -> None:
    plant(tmp_path / "Lib/site-packages/triton/backends/nvidia", "driver.py", "include/cuda.h")
    assert find(tmp_path) == []


def test_linux_triton_uses_its_own(tmp_path: Path) -> None:
    plant(tmp_path / "cuda", "bin/nvcc", "bin/ptxas", "include/cuda.h")
    plant(tmp_path / "Lib/site-packages/triton/backends/nvidia", "bin/ptxas", "include/cuda.h")
    by_variable, bundled = find(tmp_path, {"CUDA_HOME": str(tmp_path / "cuda")}, windows=False)
    assert (by_variable.chosen, bundled.chosen) == (False, True)
    assert "cuda.lib" not in by_variable.missing


@pytest.mark.parametrize(
    ("files", "version"),
    [
        pytest.param({"include/cuda.h": "#define CUDA_VERSION 13000\n"}, "13.0", id="header"),
        pytest.param({"include/cuda.h": "#define CUDA_VERSION 11080\n"}, "11.8", id="header-11"),
        pytest.param(
            {"bin/ptxas.exe": b"\0\1release 12.9, V12.9.86\n\0"},
            "12.9",
            id="banner",
        ),
        pytest.param({"bin/nvcc.exe": b"", "include/cuda.h": b"\xff\xfe\0"}, None, id="garbage"),
    ],
)
def test_version(tmp_path: Path, files: Mapping[str, str | bytes], version: str | None) -> None:
    write(tmp_path / "cuda", files)
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / "cuda")})
    assert toolkit.version == version


def test_folders_in_place_of_files(tmp_path: Path) -> None:
    for name in SYSTEM:
        (tmp_path / "cuda" / name).mkdir(parents=True)
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / "cuda")})
    assert toolkit.missing == parts().cuda.kernel + parts().cuda.build


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HOST_CONFIG, "1949"),
        (HOST_CONFIG.replace("1950", "1960"), "1959"),
        ("#if _MSC_VER >= 1500\n#endif\n", None),
        ("", None),
    ],
)
def test_newest_host_msvc(tmp_path: Path, text: str, expected: str | None) -> None:
    plant(tmp_path / "cuda", *SYSTEM)
    write(tmp_path / "cuda", {"include/crt/host_config.h": text})
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / "cuda")})
    assert toolkit.host_msvc_max == expected


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


@pytest.mark.parametrize(
    ("place", "files", "layout"),
    [
        ("sp/triton/backends/nvidia", KERNEL, "bundled"),
        ("sp/nvidia", CU12, "pip-cu12"),
        ("env/Library", (*KERNEL, "../conda-meta/history"), "conda"),
        ("env", ("conda-meta/history", "bin/nvcc"), "conda"),
        ("toolkit", ("version.json",), "system"),
        ("toolkit", ("readme.txt",), "unknown"),
    ],
)
def test_layout_of_what_a_variable_names(
    tmp_path: Path, place: str, files: tuple[str, ...], layout: str
) -> None:
    plant(tmp_path / place, *files)
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / place)})
    assert toolkit.layout == layout


def test_a_name_that_the_system_refuses(tmp_path: Path) -> None:
    (toolkit,) = find(tmp_path, {"CUDA_PATH": str(tmp_path / ("x" * 300))})
    assert not toolkit.exists
