from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cases import cases
from hosts import fake_host
from hypothesis import given
from hypothesis import strategies as st
from trees import write

from tritonwin.facts.distributions import asks_for_triton, read_requirement_lines


@pytest.mark.parametrize(("line", "asks"), cases("requirements.toml", "asks_for_triton"))
def test_what_asks_for_triton(line: str, asks: bool) -> None:
    assert asks_for_triton(line) is asks


@given(st.text(max_size=60))
def test_no_line_makes_it_fail(line: str) -> None:
    assert asks_for_triton(line) in (True, False)


def test_lines_are_found_with_file_and_number(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "requirements.txt": "torch\n# triton\ntriton==3.1.0  # fast\n-r other.txt\n",
            "requirements-gpu.txt": "triton --hash=sha256:00 \\\n",
            "other.txt": "triton\n",
            "custom_nodes/node/requirements.txt": "einops\ntriton\n",
            "custom_nodes/node/deep/requirements.txt": "triton\n",
            "custom_nodes/other/pyproject.toml": '[project]\ndependencies = [\n  "triton>=3",\n]\n',
        },
    )

    found = read_requirement_lines(fake_host(tmp_path))

    assert [(Path(f.path).relative_to(tmp_path).as_posix(), f.line, f.text) for f in found] == [
        ("requirements-gpu.txt", 1, "triton"),
        ("requirements.txt", 3, "triton==3.1.0"),
        ("custom_nodes/node/requirements.txt", 2, "triton"),
        ("custom_nodes/other/pyproject.toml", 3, "triton>=3"),
    ]


def test_the_application_folder_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, {"requirements.txt": "triton\n"})
    write(tmp_path / "app", {"requirements.txt": "triton\n"})
    host = fake_host(tmp_path)

    assert len(read_requirement_lines(replace(host, app=tmp_path))) == 1
    assert len(read_requirement_lines(replace(host, app=tmp_path / "app"))) == 2


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_what_editors_and_powershell_write(tmp_path: Path, encoding: str) -> None:
    write(tmp_path, {"requirements.txt": "torch\r\ntriton\r\n".encode(encoding)})

    (found,) = read_requirement_lines(fake_host(tmp_path))

    assert (found.line, found.text) == (2, "triton")


@pytest.mark.parametrize(
    "content",
    [
        "[project",
        "project = 3",
        "[project]\ndependencies = 'triton'",
        "[project]\ndependencies = [3]",
        b"\xff\xfe\x00",
    ],
)
def test_a_damaged_project_file_is_passed_over(tmp_path: Path, content: str | bytes) -> None:
    write(tmp_path, {"pyproject.toml": content})

    assert read_requirement_lines(fake_host(tmp_path)) == ()
