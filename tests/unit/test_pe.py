"""PE files as they are read; what is damaged: target `pe` of tests/fuzz."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pe_files import pe_file
from pe_version import versioned

from tritonwin.facts.dlls.pe import Import, PeImage, is_api_set, read_pe


def image_of(path: Path, content: bytes, **wanted: bool) -> PeImage:
    path.write_bytes(content)
    image = read_pe(path, **wanted)
    assert image is not None
    return image


def test_headers_and_imports(tmp_path: Path) -> None:
    content = pe_file("KERNEL32.dll", "MSVCP140.dll", "python3.dll")
    image = image_of(tmp_path / "libtriton.pyd", content)
    assert (image.machine, image.bits) == ("AMD64", 64)
    assert image.imports == ("KERNEL32.dll", "MSVCP140.dll", "python3.dll")
    assert image.file_version is None


@pytest.mark.parametrize(
    ("numbers", "shown", "expected"),
    [
        ("14.44.35211.0", None, "14.44.35211.0"),
        ("14.0.24215.1", "14.00.24215.1 built by: VCTOOLSREL", "14.00.24215.1"),
        ("3.12.9150.1013", "3.12.9", "3.12.9"),
    ],
)
def test_version(tmp_path: Path, numbers: str, shown: str | None, expected: str) -> None:
    path, content = tmp_path / "msvcp140.dll", versioned(pe_file(), numbers, shown)
    assert image_of(path, content, version=True).file_version == expected
    assert image_of(path, content).file_version is None


@pytest.mark.parametrize(("machine", "name"), [(0xAA64, "ARM64"), (0x1234, "0x1234")])
def test_other_machines(tmp_path: Path, machine: int, name: str) -> None:
    assert image_of(tmp_path / "a.dll", pe_file(machine=machine)).machine == name


@pytest.mark.parametrize(
    "content",
    [b"", b"MZ", b"not a PE", b"MZ" + bytes(58) + b"\xff\xff\xff\x7f", bytes(4096)],
    ids=["empty", "short", "text", "far-header", "zeros"],
)
def test_bad_files_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.dll"
    path.write_bytes(content)
    assert read_pe(path, version=True, functions=True) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert read_pe(tmp_path) is None
    assert read_pe(tmp_path / "absent.dll") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dll")
    assert read_pe(tmp_path / "pipe.dll") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("API-MS-Win-core-path-l1-1-0.dll", True), ("ext-ms-win-x.dll", True), ("a.dll", False)],
)
def test_api_sets(name: str, expected: bool) -> None:
    assert is_api_set(name) is expected


def test_names_numbers_and_delayed_imports(tmp_path: Path) -> None:
    data = pe_file(
        functions={"KERNEL32.dll": ["CreateFileW", 7], "c10.dll": ["??0Error@c10@@QEAA@XZ"]},
        delayed={"ole32.dll": ["CoInitialize"]},
        exports=["PyInit_a", "DllMain"],
        first=5,
    )
    found = image_of(tmp_path / "a.dll", data, functions=True)
    assert found.functions == (
        Import(dll="KERNEL32.dll", functions=("CreateFileW", 7)),
        Import(dll="c10.dll", functions=("??0Error@c10@@QEAA@XZ",)),
        Import(dll="ole32.dll", functions=("CoInitialize",), delayed=True),
    )
    assert found.exports == {"PyInit_a", "DllMain", 5, 6}


def test_more_functions_than_pefile_reads_by_default(tmp_path: Path) -> None:
    names = [f"f{n}" for n in range(20_000)]
    content = pe_file("a.dll", functions={"big.dll": names}, exports=names)
    found = image_of(tmp_path / "a.dll", content, functions=True)
    assert found.functions[1].functions == tuple(names)
    assert {n for n in found.exports if isinstance(n, str)} == set(names)
