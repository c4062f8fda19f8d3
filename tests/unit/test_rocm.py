from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hosts import fake_host
from installed import rooted
from trees import plant

from tritonwin.facts.records import Rocm
from tritonwin.facts.toolchain.rocm import find_rocm, torch_chips

SDK = ("include/hip/hip_runtime.h", "lib/amdhip64.lib", "bin/clang.exe")


def find(tmp: Path, env: Mapping[str, str] | None = None, app: Path | None = None) -> list[Rocm]:
    variables = {"ProgramFiles": str(tmp / "pf"), "SystemDrive": str(tmp / "c"), **(env or {})}
    host = replace(fake_host(tmp / "cwd", variables), app=app)
    return list(find_rocm(rooted(tmp), host))


def test_nothing_anywhere(tmp_path: Path) -> None:
    assert find(tmp_path) == []
    assert find_rocm(None, fake_host(tmp_path)) == ()


def test_sdk_places(tmp_path: Path) -> None:
    for place in ("rocm-path", "hip-path", "pf/AMD/ROCm/6.4", "pf/AMD/ROCm/6.10", "c/ROCm"):
        plant(tmp_path / place, *SDK)
    env = {"ROCM_PATH": str(tmp_path / "rocm-path"), "HIP_PATH": str(tmp_path / "hip-path")}
    found = find(tmp_path, env)
    assert [r.source for r in found] == [
        "variable ROCM_PATH",
        "variable HIP_PATH",
        "Program Files",
        "Program Files",
        "system drive",
    ]
    assert [Path(r.path).name for r in found[2:4]] == ["6.10", "6.4"]
    assert all(r.kind == "hip-sdk" and not r.missing for r in found)


@pytest.mark.parametrize("gone", ["hip_runtime.h", "amdhip64", "clang"])
def test_missing_parts_of_the_sdk(tmp_path: Path, gone: str) -> None:
    plant(tmp_path / "c/ROCm", "bin/other.exe", *(f for f in SDK if gone not in f))
    (found,) = find(tmp_path)
    assert found.missing == (gone,)


def test_wheels(tmp_path: Path) -> None:
    plant(
        tmp_path / "Lib/site-packages", "_rocm_sdk_core/bin/amdhip64_7.dll", "rocm_sdk/__init__.py"
    )
    (found,) = find(tmp_path)
    assert (found.kind, found.missing) == ("rocm-wheels", ())


@pytest.mark.parametrize(
    ("names", "chips", "devel"),
    [
        (["rocm_sdk_device_gfx1100", "rocm_sdk_devel"], ("gfx1100",), "packed"),
        (["rocm_sdk_libraries_gfx120X_all"], ("gfx1200", "gfx1201"), "absent"),
        (["rocm_sdk_libraries", "rocm_sdk_devel", "_rocm_sdk_devel/x"], (), "expanded"),
    ],
)
def test_parts_of_the_wheels(
    tmp_path: Path, names: list[str], chips: tuple[str, ...], devel: str
) -> None:
    site = tmp_path / "Lib/site-packages"
    parts = (n if "/" in n else f"{n}-7.13.0.dist-info/METADATA" for n in names)
    plant(site, "_rocm_sdk_core/bin/amdhip64_7.dll", "rocm-7.13.0.dist-info/METADATA", *parts)
    plant(site, "amd_torch_device_gfx1201-2.12.0+rocm7.13.0.dist-info/METADATA")
    (found,) = find(tmp_path)
    assert (found.version, found.chips, found.devel) == ("7.13.0", chips, devel)
    assert torch_chips(site) == ("gfx1201",)


def test_wheels_without_their_finder_or_library(tmp_path: Path) -> None:
    plant(tmp_path / "Lib/site-packages", "_rocm_sdk_core/bin/other.dll")
    (found,) = find(tmp_path)
    assert found.missing == ("amdhip64", "rocm_sdk")


@pytest.mark.parametrize(
    ("files", "found"),
    [
        pytest.param(("zluda/nvcuda.dll", "zluda/zluda.exe"), ["zluda"], id="folder"),
        pytest.param((".zluda/nvcuda.dll",), [".zluda"], id="hidden-folder"),
        pytest.param(("nvcuda.dll", "zluda_redirect.dll"), ["."], id="beside-the-application"),
        pytest.param(("nvcuda.dll",), [], id="some-nvcuda"),
        pytest.param(("zluda/readme.md",), [], id="only-the-name"),
    ],
)
@pytest.mark.parametrize("place", ["cwd", "app", "PATH"])
def test_zluda(tmp_path: Path, files: tuple[str, ...], found: list[str], place: str) -> None:
    plant(tmp_path / place, *files)
    folders = ";".join(str((tmp_path / place / f).parent) for f in files)
    app = tmp_path / "app" if place == "app" else None
    listed = find(tmp_path, {"PATH": folders} if place == "PATH" else None, app)
    assert [(r.kind, r.path) for r in listed] == [
        ("zluda", str(tmp_path / place / name)) for name in found
    ]


def test_nvidias_own_driver_is_not_zluda(tmp_path: Path) -> None:
    plant(tmp_path / "Windows/System32", "nvcuda.dll", "kernel32.dll")
    assert find(tmp_path, {"PATH": str(tmp_path / "Windows/System32")}) == []


def test_zluda_by_variable(tmp_path: Path) -> None:
    plant(tmp_path / "else/where", "nvcuda.dll", "zluda_ml.dll")
    (found,) = find(tmp_path, {"ZLUDA": str(tmp_path / "else/where")})
    assert (found.kind, found.source) == ("zluda", "variable ZLUDA")


def test_linux_sdk_by_variable(tmp_path: Path) -> None:
    plant(tmp_path / "rocm-7.0.2", "include/hip/hip_runtime.h", "lib/libamdhip64.so")
    host = fake_host(tmp_path, {"ROCM_PATH": str(tmp_path / "rocm-7.0.2")}, windows=False)
    first = find_rocm(None, host)[0]
    assert first.missing == ("clang",)
