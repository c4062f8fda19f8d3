"""The finders against their model: triton-windows' own look-up, in the same Windows process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from faults import Seed, rows
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

SCENES = rows("toolchain.toml")["scene"]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene["name"])
def test_what_triton_finds(machine: Machine, scene: dict[str, Any]) -> None:
    made = machine.environment("3.12", "full", ["triton-3.8"])
    Seed(machine, made).sow(scene.get("seed", {}))
    sources = machine.drives.windows(SOURCES)
    output = made.run("-B", "-c", PROGRAM, sources, timeout=120).check().stdout
    ours, theirs = json.loads(output.splitlines()[-1])
    assert ours == theirs
    assert theirs["libs"]
    for name, part in scene["finds"].items():
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
