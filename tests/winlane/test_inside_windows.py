"""Tests inside Windows: our own unit tests there, facts held to other readings, bad targets."""

from __future__ import annotations

import email.parser
import json
import re
import subprocess
from collections.abc import Sequence
from typing import Any

import pefile
import pytest
from faults import FORK, Fault, prepare
from packaging.version import Version
from winlane import Lane, Machine
from winlane.environment import Starter
from winlane.lane import CHECKOUT
from winlane.upstream import Upstream

# The unit tests whose subject differs between systems: paths, registry, processes, DLLs.
SYSTEM = (
    "access", "build_source", "build_tree", "caches", "cuda", "distributions", "files", "finders",
    "gpu", "interpreters", "journal", "journal_safety", "launch", "msvc", "pe", "python_dev",
    "scratch", "system", "target",
    "variables",
)  # fmt: skip
# Those that should not mind where they run.
PURE = (
    "build_run_output", "build_wheel",
    "catalogue", "consoles", "doctor", "download", "links", "logs", "patch_hook",
    "patch_hook_install", "proven", "redact",
    "remedies", "shared_reports", "snapshot", "sources", "wheels",
)  # fmt: skip


@pytest.mark.parametrize(
    ("names", "marked", "least"),
    [
        pytest.param(SYSTEM, "not full", 300, id="system"),
        pytest.param(PURE, "not full", 300, id="pure", marks=pytest.mark.full),
        pytest.param(("journal_safety",), "full", 1, id="many journals", marks=pytest.mark.full),
    ],
)
def test_unit_tests_pass_in_windows_python(
    lane: Lane, names: Sequence[str], marked: str, least: int
) -> None:
    files = [f"tests/unit/test_{name}.py" for name in names]
    assert passed(lane, lane, ("-m", marked, *files)) >= least


def passed(lane: Lane, starter: Starter, words: Sequence[str], **more: str) -> int:
    """The number of tests that pass in the lane's own Windows Python; none may fail."""
    command, variables = lane.command(("-q", "-p", "no:cacheprovider", *words), "pytest")
    line = subprocess.list2cmdline(command)
    done = starter.start(line, cwd=CHECKOUT, env={**variables, **more}, timeout=3000)
    assert done.returncode == 0, done.stdout[-6000:]
    found = re.search(r"(\d+) passed", done.stdout)
    assert found
    return int(found[1])


@pytest.mark.parametrize("every", ["17", pytest.param("1", marks=pytest.mark.full)])
def test_changes_and_what_holds_them_up(lane: Lane, machine: Machine, every: str) -> None:
    """Loaded DLLs, open and read-only files, the registry, and kills: tests/windows/changes.py."""
    machine.registry.set(r"HKCU\Environment", "CUDA_PATH", r"%ProgramFiles%\CUDA", "REG_EXPAND_SZ")
    machine.registry.protect(r"HKCU\Environment")
    machine.registry.protect(r"HKCU\Software\TritonwinLane")
    machine.registry.set(r"HKCU\Software\Wine\Drivers", "Graphics", "null")  # windows unseen
    sources = lane.drives.windows(Upstream(lane.cache).sources("3.6.0") / "triton")
    file = "tests/windows/changes.py"
    more = {"TRITONWIN_SOURCES": sources, "TRITONWIN_EVERY": every}
    assert passed(lane, machine, (file,), **more) == 8


@pytest.fixture
def facts(machine: Machine) -> tuple[Machine, Any, dict[str, Any]]:
    """A full Python with Triton and a runtime DLL beside it, and the facts that we read there."""
    fault = Fault(version="3.11", more=("msvc-runtime==14.34.31931",))
    seed = prepare(machine, fault)
    for dll in seed.env.site_packages.glob("msvcp140.dll"):
        seed.env.replace(dll.name, dll.read_bytes())
    machine.register_python(seed.env)
    machine.registry.set(
        r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem", "LongPathsEnabled", 1, "REG_DWORD"
    )
    machine.tool("snapshot", "-o", r"C:\f.json", "--python", seed.env.python, cwd="C:\\").check()
    return machine, seed.env, json.loads(seed.env.path(r"C:\f.json").read_bytes())["facts"]


def test_facts_agree_with_independent_readings(facts: tuple[Machine, Any, dict[str, Any]]) -> None:
    machine, env, found = facts
    # versions and requirements by the metadata itself
    for info in env.site_packages.glob("*.dist-info"):
        meta = email.parser.HeaderParser().parsestr((info / "METADATA").read_text("utf-8"))
        name = meta["Name"].lower().replace("_", "-")
        listed = [d for d in found["distributions"] if d["name"] == name]
        if name in {"torch", "triton-windows", "msvc-runtime", "pip"}:
            assert listed, name
        assert all(Version(d["version"]) == Version(meta["Version"]) for d in listed)
    # DLLs by pefile
    image = pefile.PE(str(env.site_packages / "triton/_C/libtriton.pyd"), fast_load=True)
    image.parse_data_directories()
    imports = {entry.dll.decode() for entry in image.DIRECTORY_ENTRY_IMPORT}
    assert set(found["triton"]["libtriton_imports"]) == imports
    image.close()
    beside = next(d for d in found["runtime_dlls"] if d["place"] == "beside-python" and d["loaded"])
    fixed = pefile.PE(str(env.home / beside["name"])).VS_FIXEDFILEINFO[0]
    version = (fixed.FileVersionMS >> 16, fixed.FileVersionMS & 0xFFFF, fixed.FileVersionLS >> 16)
    assert beside["version"].startswith(".".join(map(str, version)))
    # the interpreter by itself, settings by the registry
    said = env.run("-c", "import sys; print(sys.version.split()[0], sys.prefix)").check().stdout
    assert said.split() == [found["target"]["version"], found["target"]["prefix"]]
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
    assert found["system"]["long_paths"] is (machine.registry.read(key)["LongPathsEnabled"] == 1)
    named = machine.registry.read(r"HKCU\Software\Python\PythonCore\3.11\InstallPath")
    assert any(
        i["executable"].lower() == named["ExecutablePath"].lower() for i in found["interpreters"]
    )
    gpu = found["gpus"][0]
    assert (gpu["name"], gpu["compute_capability"]) == ("NVIDIA GeForce RTX 4090", "8.9")


def test_the_driver_that_hangs_is_a_finding(machine: Machine) -> None:
    machine.gpu(hang=True)
    env = machine.environment("3.12", "full", [FORK])
    done = machine.tool("doctor", "--python", env.python, "--json", cwd="C:\\")
    first = json.loads(done.stdout)["problems"][0]
    assert first["id"] == "driver-too-old"
    assert "no answer" in json.dumps(first["evidence"])


BAD = {
    "a text": (rb"C:\bad\python.exe", b"print('hello')\n", "python"),
    "an empty file": (rb"C:\bad\python.exe", b"", "not a Python"),
    "half a program": (rb"C:\bad\python.exe", b"MZ" + bytes(200), "python"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_are_no_python_are_refused(machine: Machine, name: str) -> None:
    path, content, says = BAD[name]
    machine.place(path.decode(), content)
    done = machine.tool("doctor", "--python", path.decode())
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_another_program_is_refused_and_not_started(machine: Machine) -> None:
    machine.place(r"C:\bad\python.exe", machine.fakes.tool())
    done = machine.tool("doctor", "--python", r"C:\bad\python.exe", "--timeout", "60")
    assert done.returncode == 2
    assert "did not answer" in done.stderr or "no Python" in done.stderr


def test_programs_planted_in_the_current_folder_are_not_run(machine: Machine) -> None:
    machine.gpu()
    env = machine.environment("3.12", "full", [FORK])
    names = ("python", "pip", "nvidia-smi", "vswhere", "git", "cmd", "cl", "gcc", "nvcc", "uv")
    for name in names:
        machine.place(rf"C:\planted\{name}.exe", machine.fakes.tool())
    machine.tool("doctor", "--python", env.python, cwd=r"C:\planted")
    started = [p.name for p in env.path(r"C:\planted").glob("*.log")]
    assert started == []


@pytest.mark.parametrize(
    ("encoding", "command", "status"),
    [("cp437", "explain", 1), ("cp936", "dlls", 2), ("ascii", "explain", 1)],
)
def test_every_console_can_read_it(
    machine: Machine, encoding: str, command: str, status: int
) -> None:
    """All commands are tried in tests/unit/test_consoles.py, in a process that has the encoding."""
    log = "C:\\Jürgen 用户 Имя\\main.c:1: error: include file 'Python.h' not found\n"
    machine.place(r"C:\Имя\a.log", log)
    variables = {"PYTHONIOENCODING": encoding, "NO_COLOR": "1"}
    done = machine.tool(command, r"C:\Имя\a.log", cwd="C:\\", env=variables)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    if status == 1:
        assert "include file 'Python.h' not found" in done.stdout
        assert done.stderr == ""
    else:
        assert done.stderr.startswith("error: ")
        assert done.stdout == ""


def test_the_checkout_is_what_runs(machine: Machine) -> None:
    assert (CHECKOUT / "src" / "tritonwin").is_dir()
    assert machine.tool("--version").stdout.startswith("tritonwin ")
