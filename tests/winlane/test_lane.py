"""The lane proves itself: what other tests stand on works, and a test leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pace import given_time
from winlane import Environment, Lane, LaneError, Machine, TimedOut, standins
from winlane.resources import PYTHONS

KINDS = ("bare", "comfyui", "full", "venv", "conda")
PROGRAMS = Path(__file__).parent / "programs"
WINDOWS = r"HKLM\SOFTWARE\Microsoft\Windows NT\CurrentVersion"
REPORT = "import json, sys; print(json.dumps([sys.version, sys.prefix, sys.base_prefix, sys.path]))"


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_starts(machine: Machine, kind: str, version: str) -> None:
    made = machine.environment(version, kind)
    said, prefix, base_prefix, path = json.loads(made.run("-c", REPORT).check().stdout)
    assert said.startswith(PYTHONS[version].full)
    assert (prefix != base_prefix) == (kind == "venv")
    if kind == "venv":
        assert made.base
        assert base_prefix == made.win(made.base.home)
        assert prefix == made.win(made.root / "venv")
    sees_packages = any(entry.endswith("site-packages") for entry in path)
    assert sees_packages == (kind != "bare")


@pytest.mark.parametrize("kind", ["comfyui", "full", "venv"])
def test_pip_installs_nothing_away(machine: Machine, kind: str) -> None:
    made = machine.environment("3.12", kind, ["packaging"])
    listed = json.loads(made.run("-m", "pip", "list", "--format", "json").check().stdout)
    assert {"pip", "packaging"} <= {each["name"] for each in listed}


def test_blanks_and_other_scripts_in_paths(machine: Machine) -> None:
    where = r"C:\Users\Jürgen Müller\Мои программы\用户"
    made = machine.environment("3.12", "comfyui", where=where)
    result = made.run("-X", "utf8", "-c", "import sys; print(sys.executable)").check()
    assert result.stdout.strip() == made.python
    assert made.path(made.python) == made.home / "python.exe"


def test_breaking_one_environment_leaves_the_next_whole(machine: Machine) -> None:
    first = machine.environment("3.12", "bare")
    first.replace("python312.dll", b"broken")
    first.remove()
    machine.environment("3.12", "bare").run("-c", "pass").check()


def test_exit_status_and_streams(machine: Machine) -> None:
    made = machine.environment("3.12", "bare")
    program = (
        "import os, sys; print(sys.stdin.read(), file=sys.stderr); os._exit(0xC0000005 - 2**32)"
    )
    result = made.run("-c", program, input="gruß")
    assert (result.returncode, result.stdout) == (0xC0000005, "")
    assert result.stderr.strip()


def test_variables_are_exactly_the_ones_given(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "/usr/bin/gcc")
    machine.variables["INCLUDE"] = r"C:\a b;C:\c "
    machine.path_entries.append(r"C:\first")
    profile = machine.home("Jürgen")
    program = (
        "import ctypes, json, os, tempfile;"
        "b = ctypes.create_unicode_buffer(260); ctypes.windll.shell32.SHGetFolderPathW(0, 28, 0, 0, b);"
        "print(json.dumps([os.environ.get('CC'), os.environ['include'], os.environ['PATH'],"
        "os.path.expanduser('~'), b.value, tempfile.gettempdir()]))"
    )
    said = json.loads(machine.environment("3.12", "bare").run("-c", program).check().stdout)
    cc, include, path, home, local, temp = said
    assert (cc, include) == (None, r"C:\a b;C:\c ")
    assert path.startswith(r"C:\first;C:\windows\system32")
    assert (home, local) == (profile, rf"{profile}\AppData\Local")
    assert temp == rf"{profile}\AppData\Local\Temp"


def test_registry_and_files_come_back(lane: Lane) -> None:
    key = r"HKLM\SOFTWARE\LaneTest\Inner"
    file, dll = r"C:\Program Files\LaneTest\a.txt", r"C:\windows\system32\msvcp140.dll"
    with Machine(lane) as first:
        first.registry.set(key, "Value", "text")
        first.registry.set(key, "Bytes", b"\x00\xff", "REG_BINARY")
        first.registry.set(WINDOWS, "ProductName", "Lane")
        first.registry.protect(r"HKCU\Environment")
        first.place(file, b"x")
        first.place(dll, b"broken")
        assert first.registry.read(key) == {"Value": "text", "Bytes": b"\x00\xff"}
        assert first.wine("cmd", "/c", "type", file).stdout == "x"
        first.wine("reg", "add", r"HKCU\Environment", "/v", "LANE", "/d", "1", "/f").check()
        first.wine("cmd", "/c", "echo 1> C:\\Users\\Public\\left.txt").check()
        assert first.drives.linux(r"C:\Users\Public\left.txt").exists()
    with Machine(lane) as second:
        assert second.registry.read(r"HKLM\SOFTWARE\LaneTest") is None
        assert "LANE" not in (second.registry.read(r"HKCU\Environment") or {})
        windows = second.registry.read(WINDOWS)
        assert windows
        assert windows["ProductName"] != "Lane"
        assert not second.drives.linux(file).parent.exists()
        assert not second.drives.linux(r"C:\Users\Public\left.txt").exists()
        assert second.drives.linux(dll).stat().st_size > 1000


def test_deleted_keys_come_back(lane: Lane) -> None:
    key = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Policies"
    with Machine(lane) as first:
        before = first.registry.read(key)
        assert before is not None
        first.registry.delete(key)
        assert first.registry.read(key) is None
    with Machine(lane) as second:
        assert second.registry.read(key) == before


@pytest.mark.parametrize(("nvml", "expected"), [(True, "found found"), (False, "found missing")])
def test_driver_libraries(machine: Machine, nvml: bool, expected: str) -> None:
    machine.gpu(nvml=nvml)
    python = machine.environment("3.12", "bare")
    program = str(PROGRAMS / "driver_libraries.py")
    assert python.run(program).check().stdout.strip() == expected
    machine.no_gpu()
    assert python.run(program).check().stdout.strip() == "missing missing"


def test_fake_nvml_answers(machine: Machine) -> None:
    machine.gpu("12.0", 2, "576.02", "12.9", "NVIDIA GeForce RTX 5090", memory_mib=32607)
    result = machine.environment("3.12", "bare").run(str(PROGRAMS / "ask_nvml.py")).check()
    assert json.loads(result.stdout) == {
        "driver": "576.02",
        "cuda": 12090,
        "count": 2,
        "name": "NVIDIA GeForce RTX 5090",
        "uuid": "GPU-02020202-0202-0202-0202-020202020202",
        "capability": [12, 0],
        "memory": 32607 * 2**20,
        "error": "Driver/library version mismatch",
    }


def test_hanging_driver_is_killed(machine: Machine) -> None:
    machine.gpu(hang=True)
    python = machine.environment("3.12", "bare")
    program = "print('asking', flush=True); import ctypes; ctypes.WinDLL('nvcuda.dll').cuInit(0)"

    def ask(limit: int) -> TimedOut:
        with pytest.raises(TimedOut) as caught:
            python.run("-c", program, timeout=limit)
        return caught.value

    assert given_time(ask, lambda ended: bool(ended.stdout)).stdout == "asking\n"


def _vswhere(machine: Machine, *options: str) -> str:
    program = r"C:\Program Files (x86)\Microsoft Visual Studio\Installer\vswhere.exe"
    return machine.wine(program, *options).check().stdout


def test_visual_studio_is_found_and_harvested(machine: Machine) -> None:
    build_tools = machine.visual_studio()
    community = machine.visual_studio("2019", "Community", "14.29.30133", english=False)
    machine.windows_sdk("10.0.19041.0")
    machine.windows_sdk("10.0.22621.0")
    listed = json.loads(_vswhere(machine, "-products", "*", "-format", "json"))
    assert [each["installationPath"] for each in listed] == [build_tools.path, community.path]
    # without -products, vswhere leaves the Build Tools out
    path = _vswhere(machine, "-latest", "-property", "installationPath")
    assert path.strip() == community.path
    newest = _vswhere(machine, "-products", "*", "-version", "[17.0,18.0)", "-requires",
                      "Microsoft.VisualStudio.Component.Windows11SDK*",
                      "-property", "installationPath")  # fmt: skip
    assert newest.strip() == build_tools.path

    bat = rf"{build_tools.path}\VC\Auxiliary\Build\vcvarsall.bat"
    harvest = machine.start(f'cmd /d /s /c ""{bat}" x64 >nul && set"').check().stdout
    variables = dict(line.partition("=")[::2] for line in harvest.splitlines())
    assert variables["VCToolsVersion"] == "14.44.35207"
    assert variables["WindowsSDKVersion"] == "10.0.22621.0\\"
    assert variables["INCLUDE"].startswith(build_tools.tools)
    assert machine.start(f'cmd /d /s /c ""{bat}""').returncode == 1
    cl = rf"{community.tools}\bin\Hostx64\x64\cl.exe"
    assert "Optimierungscompiler Version 19.29.30133 für x64" in machine.wine(cl).stderr


@pytest.mark.parametrize(
    ("layout", "version", "nvcc"),
    [
        ("system", "13.0", r"bin\nvcc.exe"),
        ("conda", "12.8", r"bin\nvcc.exe"),
        ("pip-cu13", "13.0", r"bin\nvcc.exe"),
        ("pip-cu12", "12.9", None),
    ],
)
def test_toolkit_layouts(machine: Machine, layout: str, version: str, nvcc: str | None) -> None:
    made = machine.environment("3.12", "conda" if layout == "conda" else "full")
    toolkit = machine.cuda_toolkit(layout, version, made)
    if nvcc:
        said = machine.wine(rf"{toolkit.root}\{nvcc}", "--version").check().stdout
        assert f"release {version}, V{version}." in said
    else:
        assert not list(made.path(toolkit.root).rglob("nvcc.exe"))


def test_tool_runs_the_checkout_and_measures_it(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITONWIN_LANE_COVERAGE", str(tmp_path))
    assert machine.tool("--version").check().stdout.startswith("tritonwin ")
    assert len(list(tmp_path.glob(".coverage.*"))) == 1


def test_stand_in_distributions(machine: Machine) -> None:
    made = machine.environment("3.12", "comfyui", ["packaging"])
    standins.cuda_torch(made, machine.fakes, "2.9.1", "12.8")
    standins.distribution(made, "flash-attn", "2.8.3+cu128torch2.8.0",
                          files={"flash_attn/__init__.py": "__version__ = '2.8.3'\n"})  # fmt: skip
    program = (
        "import json; from importlib.metadata import requires, version;"
        "print(json.dumps([version('torch'), version('flash-attn'), requires('torch')[-1]]))"
    )
    said = json.loads(made.run("-c", program).check().stdout)
    assert said == [
        "2.9.1+cu128",
        "2.8.3+cu128torch2.8.0",
        'triton==3.5.1; platform_system == "Linux" and platform_machine == "x86_64"',
    ]
    with pytest.raises(LaneError, match="pass triton="):
        standins.cuda_torch(made, machine.fakes, "9.9.0", "12.8")


def _launch(
    version: str, triton: str, torch: str | None = None, *marks: pytest.MarkDecorator
) -> Any:
    return pytest.param(version, triton, torch, marks=marks)


# torch is needed by Triton up to 3.7 to find the driver; a stand-in says what it asks
LAUNCHES = [
    _launch("3.12", "triton-3.8"),
    _launch("3.12", "triton-3.2", "2.6.0"),
    _launch("3.12", "triton-3.3", "2.7.1"),
    _launch("3.12", "triton-3.5", "2.9.1"),
    _launch("3.12", "triton-3.6", "2.10.0", pytest.mark.full),
    _launch("3.10", "triton-3.8"),
    _launch("3.11", "triton-3.8", None, pytest.mark.full),
    _launch("3.13", "triton-3.8"),
]


def _launching(machine: Machine, version: str, triton: str, torch: str | None) -> Environment:
    machine.gpu(cc="8.6")
    machine.variables["FAKECUDA_LOG"] = r"C:\Users\Public\launches.jsonl"
    made = machine.environment(version, "full", [triton, "setuptools"])
    if torch:
        standins.cuda_torch(made, machine.fakes, torch, "12.8")
    return made


@pytest.mark.parametrize(("version", "triton", "torch"), LAUNCHES)
def test_jit_from_source_to_launch(
    machine: Machine, version: str, triton: str, torch: str | None
) -> None:
    made = _launching(machine, version, triton, torch)
    said = made.run(str(PROGRAMS / "jit.py")).check().stdout.splitlines()
    assert json.loads(said[0]) == {"backend": "cuda", "arch": 86}
    assert json.loads(said[1])["cubin"] > 1000
    log = made.path(machine.variables["FAKECUDA_LOG"]).read_text()
    events = [json.loads(line) for line in log.splitlines()]
    launched = [event for event in events if event["event"] == "launch"]
    assert [(each["kernel"], each["grid"], each["sm"]) for each in launched] == [
        ("add_kernel", [7, 1, 1], 86)
    ]


def test_stale_last_error_kills_the_launcher_of_3_5(machine: Machine) -> None:
    """A defect of triton-windows 3.4 to 3.6 that a driver can provoke: the fake does it at will."""
    made = _launching(machine, "3.12", "triton-3.5", "2.9.1")
    machine.variables["FAKECUDA_LAST_ERROR"] = "2"
    assert made.run(str(PROGRAMS / "jit.py")).returncode == 0xC0000005
