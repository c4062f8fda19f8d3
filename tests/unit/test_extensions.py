from __future__ import annotations

from pathlib import Path

import pytest
from hosts import fake_host
from installed import target
from pe_files import pe_file
from trees import plant, write

from tritonwin.facts.dlls.loading import DllSearch, dll_search, read_extensions
from tritonwin.facts.records import ExtensionFile, Torch
from tritonwin.system.host import Host

NEEDS = (
    "python312.dll",
    "KERNEL32.dll",
    "api-ms-win-crt-heap-l1-1-0.dll",
    "c10.dll",
    "cudart64_12.dll",
)
FLASH = "flash_attn_2_cuda.cp312-win_amd64.pyd"


def torch(site: Path, cuda: str | None = "12.8") -> Torch:
    return Torch(version="2.9.1", location=str(site / "torch"), source="test", cuda=cuda)


def read(site: Path, host: Host, cuda: str | None = "12.8") -> tuple[ExtensionFile, ...]:
    python = target(site, executable=str(site.parent / "python.exe"), prefix=str(site.parent))
    search = dll_search(python, torch(site), host)
    return read_extensions(python, torch(site, cuda), search)


def test_dlls_that_lie_nowhere_are_unresolved(tmp_path: Path) -> None:
    site = write(tmp_path / "site", {FLASH: pe_file(*NEEDS)})

    (found,) = read(site, fake_host(tmp_path))

    assert found.package == "flash-attn"
    assert found.path == str(site / FLASH)
    assert found.unresolved == ("python312.dll", "c10.dll", "cudart64_12.dll")


@pytest.mark.parametrize(
    "place",
    [
        "site",
        "site/torch/lib",
        "site/nvidia/cuda_runtime/bin",
        "site/nvidia/cu13/bin/x86_64",
        ".",
        "Library/bin",
        "cuda/bin",
        "Windows/System32",
    ],
)
def test_every_place_that_counts_is_searched(tmp_path: Path, place: str) -> None:
    site = write(tmp_path / "site", {FLASH: pe_file("CUDART64_12.dll")})
    plant(tmp_path / place, "cudart64_12.DLL")
    host = fake_host(
        tmp_path, {"CUDA_PATH": str(tmp_path / "cuda"), "systemroot": str(tmp_path / "Windows")}
    )

    (found,) = read(site, host)

    assert found.unresolved == ()


def test_path_is_not_searched(tmp_path: Path) -> None:
    site = write(tmp_path / "site", {FLASH: pe_file("cudart64_12.dll")})
    plant(tmp_path / "tools", "cudart64_12.dll")

    (found,) = read(site, fake_host(tmp_path, {"PATH": str(tmp_path / "tools")}))

    assert found.unresolved == ("cudart64_12.dll",)


def test_the_base_installation_of_a_venv_is_searched(tmp_path: Path) -> None:
    site = write(tmp_path / "venv" / "site", {FLASH: pe_file("python312.dll")})
    plant(tmp_path / "base", "python312.dll")
    python = target(
        site, executable=str(tmp_path / "venv" / "python.exe"), base_prefix=str(tmp_path / "base")
    )

    search = dll_search(python, None, fake_host(tmp_path))

    assert search.unresolved(["python312.dll"], site) == ()


def test_a_dll_beside_the_module_is_found_whatever_its_case(tmp_path: Path) -> None:
    plant(tmp_path, "cudart64_12.dll")
    search = DllSearch(frozenset({"kernel32.dll"}))
    imports = ("c10_cuda.dll", "CUDART64_12.dll", "KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll")

    assert search.unresolved(imports, tmp_path) == ("c10_cuda.dll",)
    assert search.unresolved(imports[1:], tmp_path / "gone") == ("CUDART64_12.dll",)


def test_off_windows_nothing_is_said_about_dlls(tmp_path: Path) -> None:
    site = write(tmp_path / "site", {FLASH: pe_file(*NEEDS)})

    (found,) = read(site, fake_host(tmp_path, windows=False))

    assert found.unresolved == ()


@pytest.mark.parametrize(
    ("name", "content"),
    [(FLASH, b"404: Not Found"), ("flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", b"\x7fELF")],
)
def test_files_that_are_no_windows_module(tmp_path: Path, name: str, content: bytes) -> None:
    site = write(tmp_path / "site", {name: content})

    (found,) = read(site, fake_host(tmp_path))

    assert (found.path, found.unresolved) == (str(site / name), ())


@pytest.mark.parametrize(
    ("cuda", "names"),
    [
        ("12.8", ["libbitsandbytes_cpu.dll", "libbitsandbytes_cuda128.dll"]),
        (None, ["libbitsandbytes_cpu.dll"]),
    ],
)
def test_of_many_libraries_only_the_one_for_torchs_cuda(
    tmp_path: Path, cuda: str | None, names: list[str]
) -> None:
    folder = tmp_path / "site" / "bitsandbytes"
    plant(folder, *(f"libbitsandbytes_{n}.dll" for n in ("cpu", "cuda118", "cuda128", "xpu2025")))

    found = read(tmp_path / "site", fake_host(tmp_path), cuda)

    assert [Path(f.path).name for f in found] == names


def test_sources_and_folders_of_the_same_name_are_no_modules(tmp_path: Path) -> None:
    site = plant(tmp_path / "site", "sageattention/_fused.py", "xformers/_C/__init__.pyi")
    (site / "flash_attn_2_cuda.pyd").mkdir()

    assert read(site, fake_host(tmp_path)) == ()


def test_the_first_folder_on_the_path_wins(tmp_path: Path) -> None:
    for name in ("user", "site"):
        plant(tmp_path / name / "sageattention", "_fused.pyd", "_qattn_sm89.pyd")
    python = target(tmp_path / "user", tmp_path / "site")

    found = read_extensions(python, None, DllSearch(None))

    assert [f.path for f in found] == [
        str(tmp_path / "user" / "sageattention" / name)
        for name in ("_fused.pyd", "_qattn_sm89.pyd")
    ]
