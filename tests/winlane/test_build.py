"""Builds on real Windows: discovery, capture, environment, scripts; the compilers are stand-ins.

nvcc.exe is NVIDIA's own, put together from the package index with the hashes that we ship.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fat_binaries import container, entry
from faults import FORK, development
from winlane import Environment, Machine, standins

from tritonwin.build.recipe import assembled, msvc_for

SOURCES = Path(__file__).resolve().parents[2] / "src"
TOOLKITS = ("11.8", "12.4", "12.8", "13.0", "13.2")
BEST = {
    "11.8": "14.39.33519",
    "12.4": "14.44.35207",
    "12.8": "14.44.35207",
    "13.0": "14.44.35207",
    "13.2": "14.51.36014",
}
# As a CUDA extension's: it says what it was started with.
SETUP = """\
import json, os, sys
with open(os.path.join(os.environ["SEEN"], "seen.json"), "w", encoding="utf-8") as file:
    json.dump({"environ": dict(os.environ), "argv": sys.argv, "cwd": os.getcwd()}, file)
"""

# in front of the programs below: a plan, and the environment that its programs would get
PLANNED = r"""
import json, subprocess, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tritonwin.build import command
from tritonwin.build.jobs import resources
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.planner import plan
from tritonwin.build.source import BuildContext, assemble
from tritonwin.facts.collect import collect
from tritonwin.facts.toolchain.cuda import newest_host_msvc
from tritonwin.support.pip import Pip
from tritonwin.system.host import Host

host = Host.this_machine()
facts = collect(python=sys.argv[2], host=host)
def planned(facts, **order):
    machine = BuildMachine(facts=facts, host=host, resources=resources())
    return plan(Order(recipe="flash-attn", archs=("8.9",), jobs=1, **order), machine)
def environment(made):
    return command.environment(made, host, command.inherited(made, host))
"""
PLANS = r"""
torch = facts.torch
found = {}
for cuda in sys.argv[3:]:
    made = planned(replace(facts, torch=replace(torch, version="2.7.0+x", cuda=cuda)))
    if not made.possible:
        found[cuda] = {"refused": [r.message for r in made.refusals]}
        continue
    child = subprocess.run(
        [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"],
        env=environment(made), capture_output=True, timeout=60, check=True,
    )
    found[cuda] = {
        "toolset": made.toolset.version,
        "product": made.toolset.product,
        "cuda": made.cuda.version,
        "decisions": {d.name: d.reason for d in made.decisions},
        "env": json.loads(child.stdout),
    }
print(json.dumps(found))
"""


def answer(machine: Machine, program: str, *words: str) -> Any:
    """The last line of a program that begins as PLANNED, run by the tool's Python."""
    machine.place(r"C:\program.py", PLANNED + program)
    code = "exec(open(r'C:\\program.py').read())"
    given = (machine.drives.windows(SOURCES), *words)
    command = subprocess.list2cmdline([machine.lane.tool.python, "-B", "-c", code, *given])
    ran = machine.start(command, timeout=300).check()
    return json.loads(ran.stdout.splitlines()[-1])


def side_by_side(machine: Machine) -> Environment:
    """Visual Studio 2019, 2022 with two toolsets, and 2026; five toolkits; a torch."""
    machine.visual_studio("2019", "Community", "14.29.30133")
    machine.visual_studio("2022", "BuildTools", "14.39.33519")
    machine.visual_studio("2022", "BuildTools", "14.44.35207")
    machine.visual_studio("2026", "Community", "14.51.36014")
    machine.windows_sdk()
    for version in TOOLKITS:
        machine.cuda_toolkit("system", version)
    env = machine.environment("3.12", "full")
    standins.cuda_torch(env, machine.fakes, "2.9.1", "12.8")
    return env


def test_each_toolkit_gets_its_toolset_and_its_environment(machine: Machine) -> None:
    env = side_by_side(machine)
    machine.variables.update(
        {
            "MAX_JOBS": "64 ",
            "DISTUTILS_USE_SDK": "1 ",
            "_CL_": "/DX",
            "VSCMD_ARG_TGT_ARCH": "x86",
            "INCLUDE": r"C:\of\an\older\prompt",
            "GREETING": "Grüße ",
        }
    )
    found = answer(machine, PLANS, env.python, *TOOLKITS)
    for cuda in TOOLKITS:
        assert found[cuda].get("toolset") == BEST[cuda], found[cuda]
        seen = {name.upper(): value for name, value in found[cuda]["env"].items()}
        assert seen["VCTOOLSVERSION"] == BEST[cuda]
        assert seen["VSCMD_ARG_TGT_ARCH"] == seen["VSCMD_ARG_HOST_ARCH"] == "x64"
        assert rf"MSVC\{BEST[cuda]}\bin\Hostx64\x64;" in seen["PATH"]
        assert rf"MSVC\{BEST[cuda]}\include" in seen["INCLUDE"]
        assert "older" not in seen["INCLUDE"]
        assert seen["CUDA_HOME"].endswith(rf"\CUDA\v{cuda}")
        assert seen["CUDA_HOME"] + "\\bin;" in seen["PATH"]
        assert seen["MAX_JOBS"] == seen["DISTUTILS_USE_SDK"] == "1"
        assert seen["VSLANG"] == "1033"
        assert seen["GREETING"] == "Grüße"
        assert "_CL_" not in seen
        assert all(v == v.strip() for n, v in seen.items() if n != "NINJA_STATUS")
    reason = found["12.8"]["decisions"]["toolset"]
    assert "not 14.51.36014: nvcc of CUDA 12.8 accepts" in reason


def test_vcvarsall_that_fails_and_exits_with_0_is_seen(machine: Machine) -> None:
    studio = machine.visual_studio("2022", "BuildTools", "14.44.35207")
    machine.windows_sdk()
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from tritonwin.system.host import Host\n"
        "from tritonwin.facts.toolchain.msvc import VcvarsError, capture\n"
        "host = Host.this_machine()\n"
        "try:\n"
        "    capture(Path(sys.argv[2]), host.env.data, host, toolset='14.38')\n"
        "except VcvarsError as error:\n"
        "    print(error)\n"
    )
    batch = rf"{studio.path}\VC\Auxiliary\Build\vcvarsall.bat"
    sources = machine.drives.windows(SOURCES)
    done = machine.lane.tool.run("-B", "-c", program, sources, batch).check()
    assert "x64 -vcvars_ver=14.38 gave no environment" in done.stdout


# --- blanks


def project(machine: Machine) -> str:
    machine.place(r"C:\ext\setup.py", SETUP)
    return r"C:\ext"


PLANTED = ("chcp", "git", "where", "reg", "powershell", "python", "cmd", "findstr")


def plant(machine: Machine, folder: str) -> None:
    for name in PLANTED:
        machine.place(rf"{folder}\{name}.exe", machine.fakes.tool())


def started(machine: Machine, folder: str) -> list[str]:
    return [path.name for path in machine.drives.linux(folder).glob("*.log")]


def test_the_script_for_cmd_builds_with_exact_values(machine: Machine) -> None:
    """It also starts nothing from the current folder, in which cmd looks first."""
    machine.visual_studio("2022", "BuildTools", "14.44.35207")
    machine.visual_studio("2026", "Community", "14.51.36014")
    machine.windows_sdk()
    machine.cuda_toolkit("system", "12.8")
    machine.place(r"C:\seen", None)
    made = machine.environment("3.12", "venv")
    assert made.base is not None
    standins.cuda_torch(made.base, machine.fakes, "2.9.1", "12.8")
    text = machine.tool(
        "build", "cuda-extension", "--source", project(machine), "--arch", "8.9", "--jobs", "3",
        "--root", r"C:\b", "--python", made.base.python, "--script",
        cwd="C:\\", timeout=120,
    ).check().stdout.replace("\r\n", "\n")  # fmt: skip
    planned = dict(re.findall(r'^set "(\w+)=(.+)"$', text, re.MULTILINE))
    assert planned["MAX_JOBS"] == "3"
    assert planned["NVCC_APPEND_FLAGS"] == "--threads 1 -DUSE_CUDA=1"
    root = re.findall(r'^cd /d "(.+)\\s"$', text, re.MULTILINE)[0]
    # the lane's Python has no venv and no pip that could build: what prepares is left out, and setup.py
    # itself says what it was started with
    plant(machine, r"C:\planted")
    machine.place(rf"{root}\s\setup.py", SETUP)
    ready = machine.drives.linux(rf"{root}\v")
    shutil.copytree(made.root / "venv", ready, copy_function=shutil.copyfile)
    text = text.replace('-m" "pip" "wheel"', 'setup.py" "wheel"').replace("\n", "\r\n")
    machine.place(r"C:\build.cmd", text.encode("utf-8"))
    machine.variables.update({"MAX_JOBS": "64 ", "_CL_": "/DX", "SEEN": r"C:\seen"})
    done = machine.wine("cmd", "/d", "/c", r"C:\build.cmd", cwd=r"C:\planted", timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(machine.drives.linux(r"C:\seen\seen.json").read_text("utf-8"))
    variables = {name.upper(): value for name, value in seen["environ"].items()}
    for name in planned.keys() - {"PATH", "TW_PATH"}:
        assert variables[name] == planned[name].replace("%%", "%")
    assert variables["DISTUTILS_USE_SDK"] == "1"
    assert variables["VCTOOLSVERSION"] == "14.44.35207"
    assert "_CL_" not in variables
    assert seen["cwd"] == root + r"\s"
    assert text.startswith("@echo off\r\n")
    assert started(machine, r"C:\planted") == []


# --- an embedded Python, which has no venv

# Microsoft's compiler cannot be had here: TinyCC, which triton-windows brings along, compiles a
# module in C. The machine code for a GPU inside it is a head with nothing behind it.
EXTENSION = r"""
import os, subprocess, sys, sysconfig
from pathlib import Path
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
import helper_of_the_project
import triton

assert os.environ["VCToolsVersion"] == "14.44.35207" and os.environ["MAX_JOBS"] == "1"

class TinyCC(build_ext):
    def run(self):
        made = Path(self.get_ext_fullpath("tiny"))
        made.parent.mkdir(parents=True, exist_ok=True)
        home = Path(sys.base_prefix)
        subprocess.run(
            [Path(triton.__file__).parent / "runtime/tcc/tcc.exe", "-shared", "-o", made, "tiny.c",
             "-I" + sysconfig.get_paths()["include"], "-L" + str(home / "libs"), "-lpython311"],
            check=True, timeout=60,
        )

setup(name="tiny", version="1.0", ext_modules=[Extension("tiny", ["tiny.c"])],
      cmdclass={"build_ext": TinyCC})
"""
TINY = """
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "tiny", NULL, -1, NULL};
unsigned char code[] __attribute__((aligned(8))) = {%s};
PyMODINIT_FUNC PyInit_tiny(void) { return PyModule_Create(&module); }
"""


def test_an_embedded_python_builds_in_a_copy_of_itself(machine: Machine) -> None:
    machine.visual_studio("2022", "BuildTools", "14.44.35207")
    machine.windows_sdk()
    machine.cuda_toolkit("system", "12.8")
    # setuptools copies files by a function that Wine 8 lacks, from Python 3.12 on
    env = machine.environment("3.11", "comfyui", [FORK])
    development(machine, env)
    standins.cuda_torch(env, machine.fakes, "2.9.1", "12.8")
    code = ", ".join(map(str, container(entry(2, 89, 0))))
    machine.place(r"C:\ext\setup.py", EXTENSION)
    machine.place(r"C:\ext\helper_of_the_project.py", "")
    machine.place(r"C:\ext\tiny.c", TINY % code)
    tools = ("setuptools==80.9.0", "wheel", "packaging", "ninja>=1.13", "numpy", "pip")
    wheels = machine.lane.wheels("3.11", tools)
    before = sorted(env.home.rglob("*"))
    words = ("build", "cuda-extension", "--source", r"C:\ext", "--arch", "8.9", "--jobs", "1",
             "--root", r"C:\b", "--python", env.python, "--find-links", wheels, "--offline")  # fmt: skip
    planned = machine.tool(*words, "--plan", cwd="C:\\", timeout=240).check()
    assert f"a copy of {env.win(env.home)}" in planned.stdout
    done = machine.tool(*words, "--yes", "--json", cwd="C:\\", timeout=900)
    report = json.loads(done.stdout)
    assert "plan" in report, (report, done.stderr)
    logs = sorted(machine.drives.linux(report["plan"]["root"]).glob("build-*.log"))
    assert report["status"] == "built", logs[-1].read_text("utf-8", "replace")[-4000:]
    shown = {s["name"]: s["state"] for s in report["outcome"]["proof"]["steps"]}
    assert shown["import tiny"] == shown["architectures"] == shown["chooser"] == "passed"
    assert report["outcome"]["wheel"].endswith("tiny-1.0+cu128torch2.9-cp311-cp311-win_amd64.whl")
    now = [path for path in sorted(env.home.rglob("*")) if "__pycache__" not in path.parts]
    assert now == [path for path in before if "__pycache__" not in path.parts]


# --- nvcc.exe


NVCC = r"""
made = planned(facts, root=Path(r"C:\b"), cuda="assembled")
assert made.possible, made.refusals
parts = [p for p in made.cuda.parts if p.name in sys.argv[4:]]
cache = BuildContext(pip=lambda: Pip((), ""), folders=(Path(sys.argv[3]),), offline=True)
home = Path(made.cuda.path)
home.parent.mkdir(parents=True)
made.layout.temp.mkdir()
assemble(parts, home, cache)
env = environment(made)
without = {n: v for n, v in env.items() if n.upper() != "PATH"} | {"PATH": r"C:\windows\system32"}
Path(r"C:\a.cu").write_text("__global__ void k() {}\n")
def nvcc(*words, env=env):
    done = subprocess.run([home / "bin" / "nvcc.exe", *words], env=env, cwd="C:\\", timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{done.stdout.decode('utf-8', 'replace')} [{done.returncode}]"
threads = env["NVCC_THREADS"]
print(json.dumps({
    "version": nvcc("--version"),
    "blank": nvcc("--threads", threads + " ", "--dryrun", "-c", "a.cu"),
    "outside": nvcc("--dryrun", "-c", "a.cu", env=without),
    "ours": nvcc("--threads", threads, "--dryrun", "-c", "a.cu"),
    "newest": newest_host_msvc(home / "include" / "crt" / "host_config.h"),
}))
"""


def nvcc(machine: Machine, cuda: str, *names: str) -> dict[str, str]:
    """The output of NVIDIA's nvcc.exe, and under "newest" the compiler that its headers accept.

    The stand-in for cl.exe answers nvcc's questions as Microsoft's would: with its version.
    """
    studio = machine.visual_studio("2022", "BuildTools", "14.44.35207")
    machine.place(
        rf"{studio.tools}\bin\Hostx64\x64\cl.exe.-E.out",
        "__NV_CPLUSPLUS 199711L\r\n__NV_X86_64__\r\n__NV_MSC_VER 1944\r\n"
        "__NV_MSVC_LANG 201402L\r\n__NV_MSC_FULL_VER 194435207\r\n",
    )
    machine.windows_sdk()
    env = machine.environment("3.12", "full")
    standins.cuda_torch(env, machine.fakes, "2.11.0", cuda)
    parts = {part.name: part for part in assembled(windows=True)[cuda]}
    wheels = machine.lane.wheels("3.12", [f"{name}=={parts[name].version}" for name in names])
    found: dict[str, str] = answer(machine, NVCC, env.python, wheels, *names)
    return found


def newest_by_table(cuda: str) -> str:
    """`_MSC_VER` 1949 for toolsets below 14.50."""
    return str(1899 + int(msvc_for(cuda).rpartition(".")[2]))


def test_nvcc_of_the_package_index_runs_in_the_captured_environment(machine: Machine) -> None:
    found = nvcc(machine, "13.0", "nvidia-cuda-nvcc", "nvidia-cuda-crt")
    assert "release 13.0" in found["version"]
    # the trap of `set NVCC_THREADS=1 && ...`, and what our value does instead
    assert "'1 ': expected a number" in found["blank"]
    assert "expected a number" not in found["ours"]
    assert "Cannot find compiler 'cl.exe' in PATH" in found["outside"]
    assert "cudafe++" in found["ours"]
    assert found["newest"] == newest_by_table("13.0") == "1949"


@pytest.mark.full
def test_a_whole_toolkit_from_the_package_index(machine: Machine) -> None:
    names = [part.name for part in assembled(windows=True)["13.2"]]
    found = nvcc(machine, "13.2", *names)
    assert "release 13.2" in found["version"]
    assert found["newest"] == newest_by_table("13.2") == "1959"
