from __future__ import annotations

import os
from pathlib import Path

import pytest
from trees import plant, write

from tritonwin.system import files


def test_reading_has_a_limit(tmp_path: Path) -> None:
    write(tmp_path, {"ten": b"0123456789"})
    assert files.read_bytes(tmp_path / "ten", limit=10) == b"0123456789"
    assert files.read_bytes(tmp_path / "ten", limit=9) is None


@pytest.mark.parametrize("name", ["folder", "gone", "ten/inside", "x" * 5000, "nul\0byte"])
def test_what_is_no_file_gives_nothing(tmp_path: Path, name: str) -> None:
    plant(tmp_path, "ten", "folder/inside")
    path = tmp_path / name
    assert files.read_bytes(path) is None
    assert files.read_text(path) is None
    assert not files.is_file(path)
    assert files.is_folder(path) is (name == "folder")
    assert files.names_in(path) == (("inside",) if name == "folder" else ())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes in folders here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert files.read_bytes(tmp_path / "pipe") is None


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"\xef\xbb\xbfa", "a"), (b"\xe9t\xe9", "\ufffdt\ufffd"), ("é".encode(), "é")],
)
def test_text_is_utf8_as_far_as_it_goes(tmp_path: Path, content: bytes, text: str) -> None:
    assert files.read_text(write(tmp_path, {"t": content}) / "t") == text


def test_versions_are_ordered_by_number() -> None:
    names = ["v12.10", "v12.9", "v9.0", "10.0.22621.0", "none", "v" + "9" * 5000]
    assert sorted(names[:3], key=files.version_key) == ["v9.0", "v12.9", "v12.10"]
    assert all(isinstance(files.version_key(name), tuple) for name in names)
