"""The GPU code in compiled modules."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fat_binaries import MAGIC, container, entry
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.facts.dlls.gpu_code import Code, gpu_code

SM_90 = entry(2, 90, 0x11)
SM_90A = entry(2, 90, 0x100011)
SM_100A = entry(2, 100, 0x1100011, head=112)
SM_120F = entry(2, 120, 0x1200011, head=112)
PTX_120 = entry(1, 120, 0x8011, head=80)
PTX_120F = entry(1, 120, 0x208011, head=80)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (container(SM_90), ["9.0"]),
        (container(SM_90, SM_90A), ["9.0", "9.0a"]),
        (
            b"code" * 9 + container(SM_90) + b"\0" * 5 + container(PTX_120, SM_100A),
            ["9.0", "10.0a", "12.0+PTX"],
        ),
        (container(SM_120F, PTX_120F), ["12.0f", "12.0f+PTX"]),
        (container(SM_90) * 50, ["9.0"]),
        (b"no GPU code at all", []),
        (b"", []),
        (MAGIC, []),
        (MAGIC + b"\xff" * 100, []),  # the same number among other data
        (MAGIC + MAGIC + container(SM_90), ["9.0"]),
        (container(SM_90)[:-20], []),  # cut short
    ],
)
def test_code_in_a_module(tmp_path: Path, content: bytes, expected: list[str]) -> None:
    path = tmp_path / "module.so"
    path.write_bytes(content)
    assert [str(code) for code in gpu_code(path)] == expected


@pytest.mark.parametrize(
    ("code", "capability", "served"),
    [
        (Code(80), 80, True),
        (Code(80), 86, True),
        (Code(80), 90, False),
        (Code(86), 80, False),
        (Code(90, "a"), 90, True),
        (Code(100, "a"), 103, False),
        (Code(120, "f"), 121, True),
        (Code(120), 121, True),
        (Code(80, ptx=True), 120, True),
        (Code(90, "a", ptx=True), 120, False),
        (Code(120, "f", ptx=True), 121, True),
        (Code(120, ptx=True), 90, False),
    ],
)
def test_which_gpu_can_run_it(code: Code, capability: int, served: bool) -> None:
    assert code.serves(capability) is served


@given(st.binary(max_size=300), st.binary(max_size=60))
def test_no_bytes_confuse_it(noise: bytes, more: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "module.so")
        path.write_bytes(noise + MAGIC + more + container(SM_90))
        assert all(0 < code.arch < 500 for code in gpu_code(path))
