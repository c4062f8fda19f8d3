"""The finders against their model: triton-windows' own look-up, in the same Windows process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from winlane import Machine

SOURCES = Path(__file__).resolve().parents[2] / "src"

# `theirs` calls the functions of triton/windows_utils.py and triton/runtime/build.py.
PROGRAM = r"""
import json, os, sys, sysconfig, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
from triton import windows_utils
from triton.runtime.build import _find_compiler
from tritonwin.system.host import Host
from tritonwin.facts.records import Interpreter
from tritonwin.facts.toolchain import compilers, cuda, msvc, python_dev

def path(value):
    return os.path.normcase(os.path.normpath(value)) if value else None

def chosen(records):
    return next((r for r in records if r.chosen), None)

host = Host.this_machine()
target = Interpreter(
    executable=sys.executable, source="test", kind="unknown",
    version="%d.%d.%d" % sys.version_info[:3],
    prefix=sys.prefix, base_prefix=sys.base_prefix,
    include=sysconfig.get_path("include"), site_packages=(sysconfig.get_path("platlib"),),
)
tools, sdk = chosen(msvc.find_msvc(host)), chosen(msvc.find_windows_sdks(host))
toolkit = chosen(cuda.find_cuda_toolkits(target, host))
compiler = chosen(compilers.find_compilers(target, host))
dev = python_dev.find_python_dev(target, host)
try:
    their_compiler = _find_compiler("c")
except RuntimeError:
    their_compiler = None
ours = {
    "cl": path(tools and tools.compiler),
    "ucrt": path(sdk and os.path.join(sdk.path, "Include", sdk.version, "ucrt")),
    "ptxas": path(toolkit and toolkit.ptxas),
    "libs": path(dev.import_library and os.path.dirname(dev.import_library)),
    "compiler": path(compiler and compiler.path),
}
cuda_bin = windows_utils.find_cuda()[0]
theirs = {
    "cl": path(windows_utils.find_msvc(False)[0]),
    "ucrt": path(next((d for d in windows_utils.find_winsdk(False)[0] if d.endswith("ucrt")), None)),
    "ptxas": path(cuda_bin and os.path.join(cuda_bin, "ptxas.exe")),
    "libs": path(next(iter(windows_utils.find_python()), None)),
    "compiler": path(their_compiler),
}
print(json.dumps([ours, theirs]))
"""

BUNDLED = r"triton\backends\nvidia\bin\ptxas.exe"
TINYCC = r"triton\runtime\tcc\tcc.exe"


def nothing(machine: Machine) -> dict[str, str]:
    return {"cl": "", "ucrt": "", "ptxas": BUNDLED, "compiler": TINYCC}


def side_by_side(machine: Machine) -> dict[str, str]:
    machine.visual_studio()
    machine.visual_studio("2019", "Community", "14.29.30133")
    for version in ("10.0.19041.0", "10.0.22621.0"):
        machine.windows_sdk(version)
    machine.cuda_toolkit("system", "12.6")
    return {"cl": "14.44.35207", "ucrt": "10.0.22621.0", "ptxas": BUNDLED, "compiler": TINYCC}


def newest_without_cpp(machine: Machine) -> dict[str, str]:
    machine.visual_studio("2022", "Community", components=())
    machine.visual_studio("2019", "Community", "14.29.30133")
    machine.windows_sdk("10.0.22621.0")
    return {"ucrt": "10.0.22621.0", "compiler": TINYCC}


def prompt(machine: Machine) -> dict[str, str]:
    machine.visual_studio("2022", "Community", "14.44.35207")
    old = machine.visual_studio("2019", "BuildTools", "14.29.30133")
    for version in ("10.0.19041.0", "10.0.22621.0"):
        root = machine.windows_sdk(version)
    machine.variables.update(
        VCINSTALLDIR=rf"{old.path}\VC",
        VCToolsVersion=old.toolset,
        WindowsSdkDir=root.partition(r"\Include")[0],
        WindowsSDKVersion="10.0.19041.0\\",
    )
    return {"cl": "14.29.30133", "compiler": "14.29.30133", "ucrt": "10.0.19041.0"}


def stale_prompt(machine: Machine) -> dict[str, str]:
    studio = machine.visual_studio()
    machine.variables.update(VCINSTALLDIR=rf"{studio.path}\VC", VCToolsVersion="14.30.1")
    return {"cl": "14.44.35207", "compiler": TINYCC}


def cuda_by_variable(machine: Machine) -> dict[str, str]:
    machine.variables["CUDA_PATH"] = machine.cuda_toolkit("system", "12.6").root
    machine.variables["CC"] = r"C:\nowhere\gcc.exe"
    return {"ptxas": r"CUDA\v12.6\bin", "compiler": r"C:\nowhere\gcc.exe"}


def stale_cuda_variables(machine: Machine) -> dict[str, str]:
    machine.variables["CUDA_PATH"] = r"C:\gone"
    machine.variables["CUDA_HOME"] = machine.cuda_toolkit("system", "13.0").root
    return {"ptxas": r"CUDA\v13.0\bin"}


@pytest.mark.parametrize(
    "scene",
    [
        nothing,
        side_by_side,
        newest_without_cpp,
        prompt,
        stale_prompt,
        cuda_by_variable,
        stale_cuda_variables,
    ],
)
def test_what_triton_finds(machine: Machine, scene: Callable[[Machine], dict[str, str]]) -> None:
    made = machine.environment("3.12", "full", ["triton-3.8"])
    expected = scene(machine)
    sources = machine.drives.windows(SOURCES)
    output = made.run("-B", "-c", PROGRAM, sources, timeout=120).check().stdout
    ours, theirs = json.loads(output.splitlines()[-1])
    assert ours == theirs
    assert theirs["libs"]
    for name, part in expected.items():
        found = theirs[name]
        assert part.lower() in found if part else found is None, name


def test_cuda_13_of_program_files_is_found_by_us_alone(machine: Machine) -> None:
    made = machine.environment("3.12", "full", ["triton-3.8"])
    toolkit = machine.cuda_toolkit("system", "13.0")
    bundled = made.site_packages / "triton" / "backends" / "nvidia" / "bin" / "ptxas.exe"
    bundled.unlink()
    sources = machine.drives.windows(SOURCES)
    program = PROGRAM + (
        "print(json.dumps([[t.path, t.chosen] for t in cuda.find_cuda_toolkits(target, host)]))"
    )
    lines = made.run("-B", "-c", program, sources, timeout=120).check().stdout.splitlines()
    ours, theirs = json.loads(lines[-2])
    assert ours["ptxas"] is theirs["ptxas"] is None
    listed = dict(json.loads(lines[-1]))
    assert listed[toolkit.root] is False


def test_a_prompt_without_the_toolsets_version_kills_triton_but_not_us(machine: Machine) -> None:
    made = machine.environment("3.12", "full", ["triton-3.8"])
    studio = machine.visual_studio()
    machine.variables["VCINSTALLDIR"] = rf"{studio.path}\VC"
    theirs = made.run("-B", "-c", "from triton.windows_utils import find_msvc; find_msvc(False)")
    assert "TypeError" in theirs.stderr
    ours = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tritonwin.system.host import Host\n"
        "from tritonwin.facts.toolchain.msvc import find_msvc\n"
        "print(find_msvc(Host.this_machine())[0].version)"
    )
    sources = machine.drives.windows(SOURCES)
    assert made.run("-B", "-c", ours, sources).check().stdout.strip() == studio.toolset
