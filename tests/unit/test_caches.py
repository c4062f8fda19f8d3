from __future__ import annotations

from pathlib import Path

import pytest
from hosts import fake_host
from installed import target
from pe_files import pe_file
from trees import plant, write

from tritonwin.facts import caches
from tritonwin.facts.caches import read_caches
from tritonwin.facts.dlls.loading import DllSearch, dll_search
from tritonwin.facts.records import Cache
from tritonwin.system.host import Host

NOWHERE = DllSearch(None)


def read(host: Host, kind: str = "triton", search: DllSearch = NOWHERE) -> Cache:
    found = read_caches(target(), host, search)
    assert [cache.kind for cache in found] == ["triton", "inductor"]
    return next(cache for cache in found if cache.kind == kind)


def test_the_longest_path_is_measured(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {"AB/kernel.cubin": b"12345", "CD/EF/kernel.json": b"{}"})
    found = read(fake_host(tmp_path, {"TRITON_CACHE_DIR": str(folder)}))
    assert found.longest_path == len(str(folder / "CD" / "EF" / "kernel.json"))


@pytest.mark.parametrize("limit", ["WALK_FILES", "WALK_SECONDS"])
def test_a_walk_that_is_cut_short_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    plant(tmp_path / "c", *(f"{n}/kernel.json" for n in range(5)))
    monkeypatch.setattr(caches, limit, 3 if limit == "WALK_FILES" else -1)

    found = read(fake_host(tmp_path, {"TRITON_CACHE_DIR": str(tmp_path / "c")}))

    assert found.complete is False
    assert found.entries < 5


@pytest.mark.parametrize(
    ("name", "content", "valid", "dll", "usable"),
    [
        ("cuda_utils.cp312-win_amd64.pyd", pe_file("python312.dll"), True, "python312.dll", True),
        ("cuda_utils.cp311-win_amd64.pyd", pe_file("PYTHON311.dll"), True, "PYTHON311.dll", False),
        ("cuda_utils.pyd", pe_file("python3.dll"), True, "python3.dll", True),
        ("cuda_utils.pyd", pe_file("python313t.dll"), True, "python313t.dll", True),
        ("cuda_utils.pyd", pe_file("pythoncom312.dll", "nvcuda.dll"), True, None, True),
        ("cuda_utils.pyd", b"", False, None, True),
        ("cuda_utils.so", b"\x7fELF\x02", True, None, False),
        ("cuda_utils.so", b"MZ", False, None, False),
    ],
)
def test_a_helper_module(
    tmp_path: Path, name: str, content: bytes, valid: bool, dll: str | None, usable: bool
) -> None:
    write(tmp_path / "c" / "KEY", {name: content})

    (found,) = read(fake_host(tmp_path, {"TRITON_CACHE_DIR": str(tmp_path / "c")})).helpers

    assert found.path == str(tmp_path / "c" / "KEY" / name)
    assert (found.valid, found.python_dll, found.usable) == (valid, dll, usable)


def test_dlls_that_a_helper_lacks(tmp_path: Path) -> None:
    write(
        tmp_path / "c", {"cuda_utils.pyd": pe_file("python312.dll", "nvcuda.dll", "kernel32.dll")}
    )
    plant(tmp_path / "py", "python312.dll")
    host = fake_host(tmp_path, {"TRITON_CACHE_DIR": str(tmp_path / "c")})
    search = dll_search(target(executable=str(tmp_path / "py" / "python.exe")), None, host)

    (found,) = read(host, search=search).helpers

    assert found.unresolved == ("nvcuda.dll",)
