from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from environments import make_venv
from hosts import MemoryRegistry, fake_host
from pe_files import pe_file
from pe_version import versioned
from trees import plant, write

from tritonwin.facts.interpreters import find_interpreters
from tritonwin.facts.python_layout import describe, is_store_alias, read_pth, read_pyvenv
from tritonwin.facts.records import Interpreter
from tritonwin.system.host import Host

PYTHON = r"HKLM\SOFTWARE\Python"


def install(folder: Path, version: str = "3.12.9", *, machine: int = 0x8664) -> Path:
    """A Windows Python: the program and the DLL with its version. Returns the program."""
    compact = "".join(version.split(".")[:2])
    write(
        folder,
        {
            "python.exe": pe_file(f"python{compact}.dll", machine=machine),
            f"python{compact}.dll": versioned(pe_file(), "3.0.0.0", version),
            "python3.dll": versioned(pe_file(), "3.0.0.0", version),
        },
    )
    return folder / "python.exe"


def venv(folder: Path, home: Path, extra: str = "") -> Path:
    write(
        folder,
        {
            "pyvenv.cfg": f"home = {home}\nversion = 3.11.4\n{extra}",
            "Scripts/python.exe": pe_file("KERNEL32.dll"),
        },
    )
    return folder / "Scripts" / "python.exe"


def only(found: tuple[Interpreter, ...]) -> Interpreter:
    assert len(found) == 1, found
    return found[0]


def test_an_installation_on_path(tmp_path: Path) -> None:
    python = install(tmp_path / "Python312")
    plant(
        tmp_path / "Python312" / "Lib" / "site-packages",
        "torch-2.9.1+cu128.dist-info/METADATA",
        "triton_windows-3.5.1.post24.dist-info/METADATA",
        "requests-2.0.dist-info/METADATA",
        "pip/__init__.py",
    )
    found = only(find_interpreters(fake_host(tmp_path, {"PATH": f'"{python.parent}"; ;relative'})))
    assert (found.executable, found.source) == (str(python), "PATH")
    assert (found.version, found.bits, found.machine) == ("3.12.9", 64, "AMD64")
    assert found.free_threaded is False
    assert found.prefix == found.base_prefix == str(python.parent)
    assert found.packages == {"torch": "2.9.1+cu128", "triton-windows": "3.5.1.post24"}
    assert (found.has_pip, found.writable, found.managers) == (True, True, ())


def test_word_sizes(tmp_path: Path) -> None:
    host = fake_host(tmp_path)
    arm = install(tmp_path / "arm", machine=0xAA64)
    assert describe(arm, "test", host).machine == "ARM64"
    broken = write(tmp_path / "broken", {"python.exe": b"MZ"}) / "python.exe"
    assert describe(broken, "test", host).bits is None


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


def test_without_a_version_resource_the_name_of_the_dll_counts(tmp_path: Path) -> None:
    write(tmp_path, {"python.exe": pe_file(), "python310.dll": pe_file()})
    assert describe(tmp_path / "python.exe", "test", fake_host(tmp_path)).version == "3.10"


def test_an_embedded_python(tmp_path: Path) -> None:
    python = install(tmp_path / "python_embeded", "3.13.2")
    pth = write(
        python.parent,
        {
            "python313._pth": "\ufeff../ComfyUI\r\npython313.zip\r\n.\r\n# note\r\nimport site\r\n",
            "other._pth": "not obeyed",
        },
    )
    found = describe(python, "test", fake_host(tmp_path))
    assert found.kind == "embedded"
    assert found.pth.path == str(pth / "python313._pth")
    assert found.pth.entries == ("../ComfyUI", "python313.zip", ".")
    assert found.pth.import_site is True
    assert found.site_packages == (str(python.parent / "Lib" / "site-packages"),)
    assert found.managers == ("embedded",)


@pytest.mark.parametrize(
    ("text", "entries", "site"),
    [
        ("python312.zip\n.\n#import site\n", ("python312.zip", "."), False),
        ("Lib\\site-packages  # ours\nimport site", ("Lib\\site-packages",), True),
        ("", (), False),
    ],
)
def test_pth(tmp_path: Path, text: str, entries: tuple[str, ...], site: bool) -> None:
    write(tmp_path, {"python.exe": b"", "python._pth": text})
    found = read_pth(tmp_path / "python.exe")
    assert (found.entries, found.import_site) == (entries, site)


def test_a_virtual_environment(tmp_path: Path) -> None:
    base = install(tmp_path / "Python311", "3.11.4")
    found = describe(venv(tmp_path / ".venv", base.parent), "test", fake_host(tmp_path))
    assert (found.kind, found.version, found.managers) == ("venv", "3.11.4", ("venv",))
    assert found.prefix == str(tmp_path / ".venv")
    assert found.base_prefix == str(base.parent)
    assert found.base_executable == str(base)
    assert found.free_threaded is False


@pytest.mark.parametrize(
    ("marks", "extra", "where", "kind", "managers"),
    [
        ((), "", "venv", "venv", ("venv",)),
        ((), "uv = 0.9.1\n", "venv", "venv", ("uv",)),
        (("base/conda-meta/history",), "", "venv", "venv", ("venv", "conda")),
        (("venv/conda-meta/history",), "", "venv", "venv", ("venv", "conda")),
        (("base/python312._pth",), "", "venv", "venv", ("venv", "embedded")),
        ((), "", "pypoetry/Cache/virtualenvs/app-py3.11", "poetry", ("poetry",)),
    ],
)
def test_managers(
    tmp_path: Path,
    marks: tuple[str, ...],
    extra: str,
    where: str,
    kind: str,
    managers: tuple[str, ...],
) -> None:
    base = install(tmp_path / "base")
    plant(tmp_path, *marks)
    found = describe(venv(tmp_path / where, base.parent, extra), "test", fake_host(tmp_path))
    assert (found.kind, found.managers) == (kind, managers)


@pytest.mark.parametrize(
    ("where", "env", "kind"),
    [
        ("AppData/Roaming/uv/python/cpython-3.12.9-windows-x86_64-none", {}, "uv"),
        ("pythons/cpython-3.12.9", {"UV_PYTHON_INSTALL_DIR": "pythons"}, "uv"),
        (".pyenv/pyenv-win/versions/3.12.9", {}, "pyenv"),
        ("Program Files/Python312", {"ProgramFiles": "Program Files"}, "system"),
        ("AppData/Local/Programs/Python/Python312", {"LOCALAPPDATA": "AppData/Local"}, "user"),
    ],
)
def test_kind_by_place(tmp_path: Path, where: str, env: dict[str, str], kind: str) -> None:
    python = install(tmp_path / where)
    full = {name: str(tmp_path / value) for name, value in env.items()}
    assert describe(python, "test", fake_host(tmp_path, full)).kind == kind


def test_every_place(tmp_path: Path) -> None:
    base = install(tmp_path / "Programs/Python312")
    places = {
        ".pyenv/pyenv-win/versions/3.11.9": "pyenv",
        "AppData/Roaming/uv/python/cpython-3.13.2-windows-x86_64-none": "uv",
        "miniconda3": "conda",
        "miniconda3/envs/work": "conda",
        "elsewhere/env": "conda",
    }
    for place in places:
        install(tmp_path / place)
    venv(tmp_path / "AppData/Local/pypoetry/Cache/virtualenvs/a-1", base.parent)
    venv(tmp_path / "activated", base.parent)
    listed = f"{tmp_path / 'elsewhere/env'}\n{tmp_path / 'gone'}\n"
    write(tmp_path, {".conda/environments.txt": listed})
    env = {
        "LOCALAPPDATA": str(tmp_path / "AppData/Local"),
        "APPDATA": str(tmp_path / "AppData/Roaming"),
        "VIRTUAL_ENV": str(tmp_path / "activated"),
    }
    cwd = plant(tmp_path / "a/b/work", "x")
    found = find_interpreters(Host(**{**vars(fake_host(tmp_path, env)), "cwd": cwd}))
    sources = {
        Path(i.prefix or "").relative_to(tmp_path).as_posix(): i.source.split()[0] for i in found
    }
    assert sources == {
        **places,
        "AppData/Local/pypoetry/Cache/virtualenvs/a-1": "poetry",
        "activated": "variable",
    }


@pytest.mark.parametrize(
    ("where", "cwd", "app"),
    [
        ("portable/python_embeded", "portable", None),
        ("portable/python_embeded", "portable/ComfyUI", None),
        ("portable/python_embeded", ".", None),
        ("FramePack/system/python", "FramePack", None),
        ("portable/python_embedded", "portable/python_embedded", None),
        ("app/python_embeded", "elsewhere/deep", "app/ComfyUI"),
    ],
)
def test_near_folders(tmp_path: Path, where: str, cwd: str, app: str | None) -> None:
    python = install(tmp_path / where)
    for folder in (cwd, app or cwd):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    known = vars(fake_host(tmp_path))
    host = Host(**{**known, "cwd": tmp_path / cwd, "app": tmp_path / app if app else None})
    assert only(find_interpreters(host)).executable == str(python)


def test_store_aliases_are_named_and_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "Microsoft" / "WindowsApps"
    plant(folder, "python.exe", "python3.exe")
    found = find_interpreters(fake_host(tmp_path, {"PATH": str(folder)}))
    assert [(Path(i.executable).name, i.kind, i.version) for i in found] == [
        ("python.exe", "store", None),
        ("python3.exe", "store", None),
    ]
    assert all(i.error and "not started" in i.error for i in found)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\Users\x\AppData\Local\Microsoft\WindowsApps\python.exe", True),
        ("c:/users/x/appdata/local/microsoft/windowsapps/python3.exe", True),
        (r"C:\Program Files\WindowsApps\PythonSoftwareFoundation.Python.3.12\python.exe", False),
        (r"C:\WindowsApps\python.exe", False),
    ],
)
def test_is_store_alias(path: str, expected: bool) -> None:
    assert is_store_alias(path) is expected


def test_one_python_with_two_names_is_listed_once(tmp_path: Path) -> None:
    python = install(tmp_path / "Python312")
    write(python.parent, {"python3.exe": python.read_bytes()})
    env = {"PATH": str(python.parent), "CONDA_PREFIX": str(python.parent)}
    assert only(find_interpreters(fake_host(tmp_path, env))).executable == str(python)


def test_the_order_of_path_is_kept(tmp_path: Path) -> None:
    first, second = install(tmp_path / "z"), install(tmp_path / "a")
    write(first.parent, {"python3.exe": b""})
    env = {"PATH": f"{first.parent};{second.parent}"}
    found = find_interpreters(fake_host(tmp_path, env))
    assert [i.executable for i in found] == [str(first), str(second)]


def test_registry(tmp_path: Path) -> None:
    old, new = install(tmp_path / "py310", "3.10.11"), install(tmp_path / "py312")
    other = install(tmp_path / "conda")
    registry = MemoryRegistry(
        {
            rf"{PYTHON}\PythonCore\3.10": {"SysVersion": "3.10"},
            rf"{PYTHON}\PythonCore\3.10\InstallPath": {"": f"{old.parent}"},
            r"HKCU\SOFTWARE\Python\PythonCore\3.12": {"Version": "3.12.9"},
            r"HKCU\SOFTWARE\Python\PythonCore\3.12\InstallPath": {"ExecutablePath": str(new)},
            rf"{PYTHON}\ContinuumAnalytics\Anaconda311\InstallPath": {"ExecutablePath": str(other)},
            rf"{PYTHON}\PythonCore\3.9\InstallPath": {"ExecutablePath": str(tmp_path / "gone.exe")},
            rf"{PYTHON}\PyLauncher\InstallPath": {"": "C:\\Windows"},
            rf"{PYTHON}\PythonCore\broken": {},
        }
    )
    (tmp_path / "empty").mkdir()
    host = Host(**{**vars(fake_host(tmp_path, {}, registry)), "cwd": tmp_path / "empty"})
    found = {i.executable: i for i in find_interpreters(host)}
    assert set(found) == {str(old), str(new), str(other)}
    assert found[str(new)].source == r"registry HKCU\SOFTWARE\Python\PythonCore\3.12"
    assert found[str(old)].source == rf"registry {PYTHON}\PythonCore\3.10"
    assert found[str(old)].kind == "system"


@pytest.mark.parametrize(
    ("text", "version", "uv"),
    [
        ("home = /x\nversion = 3.12.1\n", "3.12.1", False),
        ("home = /x\nversion_info = 3.11.4.final.0\n", "3.11.4", False),
        ("HOME=/x\nuv = 0.9\nversion_info = 3.13.2\n", "3.13.2", True),
        ("home = /x\n", None, False),
    ],
)
def test_pyvenv(tmp_path: Path, text: str, version: str | None, uv: bool) -> None:
    write(tmp_path, {"pyvenv.cfg": text, "Scripts/python.exe": b""})
    found = read_pyvenv(tmp_path / "Scripts" / "python.exe")
    assert (found.folder, found.home, found.version, found.uv) == (
        tmp_path,
        Path("/x"),
        version,
        uv,
    )


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
    found = only(find_interpreters(fake_host(tmp_path, env, windows=False)))
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


def test_broken_links_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    plant(tmp_path, "venv/bin/x", "python_embeded")
    for name in ("venv", "env"):
        (tmp_path / name / "Scripts" / "python.exe").mkdir(parents=True)
    assert find_interpreters(fake_host(tmp_path)) == ()
