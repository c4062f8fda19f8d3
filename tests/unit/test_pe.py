from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pe_files import pe_file
from pe_version import versioned

from tritonwin.facts.dlls.pe import PeImage, is_api_set, read_pe


def image_of(path: Path, content: bytes, *, version: bool = False) -> PeImage:
    path.write_bytes(content)
    image = read_pe(path, version=version)
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
        ("14.44.35211.0", " ", "14.44.35211.0"),
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
    assert read_pe(path, version=True) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert read_pe(tmp_path) is None
    assert read_pe(tmp_path / "absent.dll") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.dll")
    assert read_pe(tmp_path / "pipe.dll") is None


@settings(deadline=None)  # the first call imports tables of pefile
@given(at=st.integers(0, 1500), junk=st.binary(min_size=1, max_size=64), cut=st.integers(0, 4000))
def test_damaged_files_never_raise(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes, cut: int
) -> None:
    data = bytearray(versioned(pe_file("KERNEL32.dll", "python312.dll"), "1.2.3.4"))
    data[at : at + len(junk)] = junk
    path = tmp_path_factory.getbasetemp() / "fuzzed.dll"
    path.write_bytes(bytes(data[: len(data) - cut]))
    read_pe(path, version=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("API-MS-Win-core-path-l1-1-0.dll", True), ("ext-ms-win-x.dll", True), ("a.dll", False)],
)
def test_api_sets(name: str, expected: bool) -> None:
    assert is_api_set(name) is expected
