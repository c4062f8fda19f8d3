from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cases import cases
from environments import make_venv
from hosts import fake_host
from pe_files import pe_file
from pe_version import versioned
from trees import write

from tritonwin.facts.interpreters import find_interpreters
from tritonwin.facts.python_layout import describe, is_store_alias, read_pth, read_pyvenv
from tritonwin.system.host import Host


def install(folder: Path, version: str = "3.12.9") -> Path:
    """A Windows Python: the program and the DLL with its version. Returns the program."""
    compact = "".join(version.split(".")[:2])
    write(
        folder,
        {
            "python.exe": pe_file(f"python{compact}.dll"),
            f"python{compact}.dll": versioned(pe_file(), "3.0.0.0", version),
            "python3.dll": versioned(pe_file(), "3.0.0.0", version),
        },
    )
    return folder / "python.exe"


def test_free_threaded_beside_the_ordinary_one(tmp_path: Path) -> None:
    python = install(tmp_path, "3.13.2")
    free = write(
        tmp_path,
        {
            "python3.13t.exe": pe_file("python313t.dll"),
            "python313t.dll": versioned(pe_file(), "3.0.0.0", "3.13.2"),
        },
    )
    host = fake_host(tmp_path)
    assert describe(python, "test", host).free_threaded is False
    assert describe(free / "python3.13t.exe", "test", host).free_threaded is True


@pytest.mark.parametrize(("text", "entries", "site"), cases("finders.toml", "pth"))
def test_pth(tmp_path: Path, text: str, entries: list[str], site: bool) -> None:
    write(tmp_path, {"python.exe": b"", "python._pth": text})
    found = read_pth(tmp_path / "python.exe")
    assert (list(found.entries), found.import_site) == (entries, site)


@pytest.mark.parametrize(("path", "expected"), cases("finders.toml", "aliases"))
def test_is_store_alias(path: str, expected: bool) -> None:
    assert is_store_alias(path) is expected


@pytest.mark.parametrize(("text", "version", "uv"), cases("finders.toml", "pyvenv"))
def test_pyvenv(tmp_path: Path, text: str, version: str, uv: bool) -> None:
    write(tmp_path, {"pyvenv.cfg": text, "Scripts/python.exe": b""})
    found = read_pyvenv(tmp_path / "Scripts" / "python.exe")
    assert (found.folder, found.home) == (tmp_path, Path("/x"))
    assert (found.version or "", found.uv) == (version, uv)


@pytest.mark.skipif(os.name == "nt", reason="layouts of other systems")
def test_pythons_of_other_systems(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "pyenv/versions/3.12.1/bin/python3.12": b"\x7fELF",
            "pyenv/versions/3.12.1/lib/python3.12/site-packages/torch-2.9.1.dist-info/RECORD": "",
            "shims/python": "#!/bin/sh\n",
        },
    )
    folder = tmp_path / "pyenv/versions/3.12.1"
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to("python3.12")
    env = {"PYENV_ROOT": str(tmp_path / "pyenv"), "PATH": str(tmp_path / "shims")}
    (found,) = find_interpreters(fake_host(tmp_path, env, windows=False))
    assert (found.kind, found.version) == ("pyenv", "3.12")
    assert found.packages == {"torch": "2.9.1"}


def test_agrees_with_the_running_python(tmp_path: Path) -> None:
    made = make_venv(tmp_path / "venv")
    host = Host.this_machine()
    found = describe(made.python, "test", host)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.prefix == str(made.folder)
    assert Path(found.base_prefix or "").samefile(sys.base_prefix)
    assert found.site_packages == (str(made.site_packages),)
