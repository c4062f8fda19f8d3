from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from environments import VirtualEnvironment, make_venv
from hosts import MemoryRegistry, fake_host
from pace import PATIENCE
from trees import plant

from tritonwin.facts.target import TargetError, examine, import_error
from tritonwin.system.host import Environment, Host
from tritonwin.system.process import parse_answer

COOKIE = "0123456789abcdef"

posix = pytest.mark.skipif(os.name == "nt", reason="stands in for a program by a shell script")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """This machine's own system, with an environment that the test knows."""
    windows = os.name == "nt"
    kept = {k: v for k, v in os.environ.items() if windows and k.upper() == "SYSTEMROOT"}
    env = Environment(kept, windows=windows)
    return Host(env, MemoryRegistry(), cwd=tmp_path, home=tmp_path, windows=windows)


@pytest.fixture
def venv(tmp_path: Path) -> VirtualEnvironment:
    return make_venv(tmp_path / "venv")


def script(folder: Path, *lines: str) -> str:
    """A program called python that is none."""
    path = folder / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)
    return str(path)


def test_a_virtual_environment(venv: VirtualEnvironment, host: Host) -> None:
    found = examine(str(venv.python), host)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.kind == "venv"
    assert (found.bits, bool(found.machine)) == (64, True)
    assert found.implementation == "cpython"
    assert found.executable == str(venv.python)
    assert found.prefix == str(venv.folder)
    assert found.base_prefix == sys.base_prefix
    assert found.site_packages == (str(venv.site_packages),)
    assert found.writable is True
    assert (found.site_loaded, found.has_pip, found.error) == (True, False, None)
    assert found.include.startswith(sys.base_prefix)
    assert found.platform_tag in ("linux_x86_64", "linux_aarch64", "win_amd64")


def test_pythonpath_counts_as_in_an_ordinary_start(tmp_path: Path, host: Host) -> None:
    separator = ";" if host.windows else ":"
    value = separator.join(["relative", "", str(tmp_path / "absolute")])
    env = Environment({**host.env.data, "PYTHONPATH": value}, windows=host.windows)
    known = Host(env, host.registry, host.cwd, host.home, windows=host.windows)
    found = examine(sys.executable, known)
    assert found.sys_path[:2] == (str(tmp_path / "relative"), str(tmp_path / "absolute"))


def test_user_site_comes_before_the_packages_of_the_installation(
    venv: VirtualEnvironment, tmp_path: Path, host: Host
) -> None:
    settings = venv.folder / "pyvenv.cfg"
    settings.write_text(settings.read_text().replace("packages = false", "packages = true"))
    env = Environment({**host.env.data, "PYTHONUSERBASE": str(tmp_path)}, windows=host.windows)
    known = Host(env, host.registry, host.cwd, host.home, windows=host.windows)
    minor = sys.version_info[1]
    folder = tmp_path / (
        f"Python3{minor}/site-packages" if host.windows else f"lib/python3.{minor}/site-packages"
    )
    folder.mkdir(parents=True)
    found = examine(str(venv.python), known)
    assert found.user_site == str(folder)
    assert found.sys_path.index(str(folder)) < found.sys_path.index(str(venv.site_packages))


def test_a_broken_site_module(venv: VirtualEnvironment, host: Host) -> None:
    (venv.site_packages / "sitecustomize.py").write_text("import os; os._exit(7)")
    found = examine(str(venv.python), host)
    assert found.site_loaded is False
    assert found.error == "starts only without its site module: exit 7"
    assert found.prefix == str(venv.folder)
    assert found.site_packages[0] == str(venv.site_packages)


@posix
@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["exec sleep 600"], "gave no answer within"),
        (["echo hello"], "did not answer as a Python would"),
        (["echo '{}'", "cat"], "did not answer as a Python would"),
        (['echo "$@"'], "did not answer as a Python would"),
        (["echo oops >&2", "exit 1"], "(exit 1: oops)"),
        (["echo 'Unknown option: -I' >&2", "echo usage >&2", "exit 2"], "Unknown option: -I"),
        (["kill -SEGV $$"], "(signal 11 (Segmentation fault))"),
        (["head -c 3000000 /dev/zero"], "did not answer as a Python would"),
    ],
)
def test_what_is_no_python(tmp_path: Path, host: Host, lines: list[str], message: str) -> None:
    path = script(tmp_path, *lines)
    env = Environment({"PATH": os.environ["PATH"]}, windows=False)
    known = Host(env, host.registry, host.cwd, host.home, windows=False)
    with pytest.raises(TargetError) as error:
        examine(path, known, timeout=1 if "no answer" in message else PATIENCE)
    assert message in str(error.value)
    assert path in str(error.value)
    assert error.value.help


def test_paths_that_lead_nowhere(tmp_path: Path, host: Host) -> None:
    plant(tmp_path, "python-folder/x")
    (tmp_path / "python-empty.exe").touch()
    for name, message in [
        ("python-folder", "is not a Python"),
        ("absent/python.exe", "there is no file"),
        ("python-empty.exe", "is not a Python"),
    ]:
        with pytest.raises(TargetError, match=message):
            examine(str(tmp_path / name), host)


def test_what_is_not_called_python_is_never_started(tmp_path: Path, host: Host) -> None:
    mark = tmp_path / "started"
    path = tmp_path / "shell.exe"
    path.write_text(f"#!/bin/sh\ntouch {mark}\n")
    path.chmod(0o755)
    with pytest.raises(TargetError, match="is not a Python"):
        examine(str(path), host)
    assert not mark.exists()


@posix
def test_a_file_that_cannot_be_started(tmp_path: Path, host: Host) -> None:
    path = tmp_path / "python"
    path.write_text("text")
    with pytest.raises(TargetError, match="cannot be started: Permission denied"):
        examine(str(path), host)
    path.chmod(0o755)
    with pytest.raises(TargetError, match="cannot be started: Exec format error"):
        examine(str(path), host)


@posix
def test_a_store_alias_is_never_started(tmp_path: Path, host: Host) -> None:
    folder = tmp_path / "AppData/Local/Microsoft/WindowsApps"
    mark = tmp_path / "started"
    path = Path(script(folder, f"touch {mark}"))
    with pytest.raises(TargetError, match="Microsoft Store alias"):
        examine(str(path), host)
    assert not mark.exists()


def test_windows_wants_an_exe(tmp_path: Path) -> None:
    plant(tmp_path, "python.bat")
    with pytest.raises(TargetError, match="is not a Python"):
        examine(str(tmp_path / "python.bat"), fake_host(tmp_path))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("print('noise ' * 10000)", None),
        ("import sys; sys.stdout = None", None),
        ("import atexit, time; atexit.register(time.sleep, 600)", None),
        ("import absent_module", "ModuleNotFoundError: No module named 'absent_module'"),
        ("raise ImportError('DLL load failed')", "ImportError: DLL load failed"),
        ("raise SystemExit(3)", "exit 3"),
        ("import os; os._exit(5)", "exit 5"),
        (
            "import os; os.kill(os.getpid(), 11)",
            "exit 11" if os.name == "nt" else "signal 11 (Segmentation fault)",
        ),
        ("import time; time.sleep(600)", "time limit"),
    ],
)
def test_an_import(venv: VirtualEnvironment, text: str, error: str | None) -> None:
    (venv.site_packages / "torch.py").write_text(text)
    found = import_error(str(venv.python), "torch", 1 if error == "time limit" else PATIENCE)
    assert found == error


def test_an_import_ignores_the_current_folder(
    venv: VirtualEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "work", "torch.py")
    monkeypatch.chdir(tmp_path / "work")
    found = import_error(str(venv.python), "torch", PATIENCE)
    assert found == "ModuleNotFoundError: No module named 'torch'"


@pytest.mark.parametrize(
    ("out", "expected"),
    [
        (f'{COOKIE}{{"a": 1}}{COOKIE[::-1]}', {"a": 1}),
        (f'noise\n{COOKIE}{{"a": 1}}{COOKIE[::-1]}noise', {"a": 1}),
        (f'{COOKIE}{{"a": 1}}', None),
        (f'{{"a": 1}}{COOKIE[::-1]}', None),
        (f"{COOKIE}[1]{COOKIE[::-1]}", None),
        (f"{COOKIE}{{broken{COOKIE[::-1]}", None),
        (f"{COOKIE}{'[' * 100_000}{COOKIE[::-1]}", None),
        ("", None),
    ],
)
def test_parse_answer(out: str, expected: object) -> None:
    assert parse_answer(out.encode(), COOKIE) == expected
