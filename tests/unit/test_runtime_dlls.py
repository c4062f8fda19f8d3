from __future__ import annotations

from pathlib import Path

import pytest
from hosts import fake_host
from pe_files import pe_file
from pe_version import versioned

from tritonwin.facts.dlls.loading import read_runtime_dlls
from tritonwin.facts.records import Interpreter

OLD, NEW = "14.29.30139.0", "14.44.35211.0"


def dll(folder: Path, name: str, version: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(versioned(pe_file(), version))


def target(executable: Path, base: Path | None = None) -> Interpreter:
    return Interpreter(
        executable=str(executable),
        source="test",
        kind="unknown",
        base_executable=str(base or executable),
    )


@pytest.fixture
def system32(tmp_path: Path) -> Path:
    return tmp_path / "Windows" / "System32"


def rows(tmp_path: Path, interpreter: Interpreter) -> list[tuple[str, str, str | None, bool]]:
    host = fake_host(tmp_path, {"SystemRoot": str(tmp_path / "Windows")})
    found = read_runtime_dlls(interpreter, host)
    return [(d.name, d.place, d.version, d.loaded) for d in found]


def test_the_copy_beside_python_comes_first(tmp_path: Path, system32: Path) -> None:
    dll(tmp_path / "py", "msvcp140.dll", OLD)
    dll(system32, "msvcp140.dll", NEW)
    dll(system32, "vcomp140.dll", NEW)
    assert rows(tmp_path, target(tmp_path / "py" / "python.exe")) == [
        ("msvcp140.dll", "beside-python", OLD, True),
        ("msvcp140.dll", "system32", NEW, False),
        ("vcomp140.dll", "system32", NEW, True),
    ]


def test_a_venv_runs_the_base_interpreter(tmp_path: Path, system32: Path) -> None:
    dll(tmp_path / "venv" / "Scripts", "vcruntime140.dll", NEW)
    dll(tmp_path / "base", "vcruntime140.dll", OLD)
    dll(system32, "vcruntime140.dll", NEW)
    venv = target(tmp_path / "venv" / "Scripts" / "python.exe", tmp_path / "base" / "python.exe")
    assert rows(tmp_path, venv) == [
        ("vcruntime140.dll", "beside-python", NEW, False),
        ("vcruntime140.dll", "base-python", OLD, True),
        ("vcruntime140.dll", "system32", NEW, False),
    ]


def test_conda_comes_before_system32(tmp_path: Path, system32: Path) -> None:
    (tmp_path / "env" / "conda-meta").mkdir(parents=True)
    dll(tmp_path / "env" / "Library" / "bin", "msvcp140.dll", NEW)
    dll(system32, "msvcp140.dll", OLD)
    assert rows(tmp_path, target(tmp_path / "env" / "python.exe")) == [
        ("msvcp140.dll", "conda", NEW, True),
        ("msvcp140.dll", "system32", OLD, False),
    ]


def test_an_unreadable_dll_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "py").mkdir()
    (tmp_path / "py" / "msvcp140.dll").write_bytes(b"broken")
    assert rows(tmp_path, target(tmp_path / "py" / "python.exe")) == [
        ("msvcp140.dll", "beside-python", None, True)
    ]


def test_nothing_on_other_systems(tmp_path: Path) -> None:
    dll(tmp_path, "msvcp140.dll", NEW)
    host = fake_host(tmp_path, windows=False)
    assert read_runtime_dlls(target(tmp_path / "python"), host) == ()
