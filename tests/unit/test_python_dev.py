from __future__ import annotations

import struct
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest
from cases import CORPUS
from hypothesis import given
from hypothesis import strategies as st
from pe_files import import_library, short_import
from trees import write

from tritonwin.facts.records import PythonDev
from tritonwin.facts.toolchain.python_dev import (
    read_headers,
    read_import_library,
)
from tritonwin.system import toml

HEADERS = toml.loads((CORPUS / "finders.toml").read_text("utf-8"))["headers"]


def coff_object(section: bytes, content: bytes, machine: int = 0x8664) -> bytes:
    header = struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, 0, 0)
    table = struct.pack("<8sIIIIIIHHI", section, 0, 0, len(content), 60, 0, 0, 0, 0, 0)
    return header + table + content


LIB_312 = import_library()


def headers(folder: Path, changes: Mapping[str, str | bytes] = {}) -> PythonDev:
    """Those of Python.h and what it includes, with other contents in some."""
    found = read_headers(write(folder, {**HEADERS, **changes}))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(LIB_312, ("python312.dll", "x64"), id="short-import"),
        pytest.param(
            import_library(short_import("python312.dll", 0x14C)),
            ("python312.dll", "x86"),
            id="short-import-of-32-bit",
        ),
        pytest.param(
            import_library(coff_object(b".idata$6", b"python3.dll\0")),
            ("python3.dll", "x64"),
            id="microsoft-descriptor",
        ),
        pytest.param(
            import_library(
                coff_object(b".text", b"\x90" * 7),
                coff_object(b".idata$6", b"\x05\0PyList_New\0"),
                coff_object(b".idata$7", b"libpython3.12.dll\0"),
            ),
            ("libpython3.12.dll", "x64"),
            id="gnu-dlltool",
        ),
        pytest.param(import_library(coff_object(b".text", b"code")), None, id="static-library"),
        pytest.param(b"!<arch>\n", None, id="empty-archive"),
        pytest.param(LIB_312[:90], None, id="truncated"),
        pytest.param(b"", None, id="empty"),
        pytest.param(b"\0" * 4096, None, id="zeros"),
    ],
)
def test_import_library(tmp_path: Path, content: bytes, expected: tuple[str, str] | None) -> None:
    library = write(tmp_path, {"python.lib": content}) / "python.lib"
    assert read_import_library(library) == expected


@given(content=st.binary(max_size=400), cut=st.integers(0, len(LIB_312)))
def test_import_library_of_any_bytes_never_raises(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int
) -> None:
    library = tmp_path_factory.getbasetemp() / "any.lib"
    library.write_bytes(LIB_312[:cut] + content)
    found = read_import_library(library)
    assert found is None or found[0]


@pytest.mark.parametrize("name", [n for n in HEADERS if n != "Python.h"])
def test_a_header_that_is_not_there_is_missing(tmp_path: Path, name: str) -> None:
    write(tmp_path, HEADERS)
    (tmp_path / name).unlink()
    found = read_headers(tmp_path)
    assert found.headers_missing == (name,)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b" \r\n\t", id="blank"),
        pytest.param(b"\0" * 2048, id="zeros"),
        pytest.param(b"\n<!DOCTYPE html><html>", id="saved-web-page"),
        pytest.param(b"//" + b"x" * (5 << 20), id="huge"),
    ],
)
def test_a_header_that_no_compiler_could_read_is_damaged(tmp_path: Path, content: bytes) -> None:
    found = headers(tmp_path, {"pystats.h": content})
    assert (found.headers_missing, found.headers_damaged) == ((), ("pystats.h",))


def test_a_folder_in_place_of_a_header_is_damaged(tmp_path: Path) -> None:
    write(tmp_path, {k: v for k, v in HEADERS.items() if k != "Python.h"})
    (tmp_path / "Python.h").mkdir()
    found = read_headers(tmp_path)
    assert found.headers_damaged == ("Python.h",)


def test_non_utf8_comments_do_no_harm(tmp_path: Path) -> None:
    assert not headers(tmp_path, {"pystats.h": b"/* L\xf6wis */ int x;"}).headers_damaged


@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(),
    reason="no headers of this Python",
)
def test_real_headers_of_the_running_python_are_whole() -> None:
    found = read_headers(Path(sysconfig.get_path("include")))
    assert (found.headers_missing, found.headers_damaged) == ((), ())
    assert (found.headers_version or "").startswith(sysconfig.get_python_version())
