"""Plans of builds: the choice and its reason, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import machines
import pytest
from healthy import HEALTHY
from hosts import no_pip
from machines import linux, msvc, room, toolkit, torch, windows
from packaging.version import Version
from trees import plant
from wheel_files import make_wheel

from tritonwin.build import archs, command, order, recipe, tools
from tritonwin.build.command import UnfitEnvironmentError
from tritonwin.build.order import BuildMachine, Order, Request, survey
from tritonwin.build.plan import GIB, BuildPlan, Notes
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load, names
from tritonwin.build.source import BuildContext, assemble
from tritonwin.errors import UserError
from tritonwin.facts.records import CudaToolkit, PythonDev
from tritonwin.journal.tree import file_hash
from tritonwin.support.archives import ArchiveError
from tritonwin.support.pip import Pip, PipError
from tritonwin.support.wheel_choice import FileSource, WheelChoice
from tritonwin.system import codec
from tritonwin.system.host import Environment, Host
from tritonwin.system.process import Completed

FLASH = "flash-attn"
needs_sh = pytest.mark.skipif(os.name == "nt", reason="its stand-ins are scripts of sh")


def said(made: BuildPlan, name: str) -> str:
    found = next(d for d in made.decisions if d.name == name)
    return f"{found.value}; {found.reason}"


def refused(made: BuildPlan) -> str:
    return " | ".join(f"{r.problem}: {r.message} {r.help}" for r in made.refusals)


def planned(tmp_path: Path, recipe: str = FLASH, **order: Any) -> BuildPlan:
    return plan(Order(recipe=recipe, **order), linux(tmp_path))


def at(machine: BuildMachine, **others: Any) -> BuildContext:
    return BuildContext(**{"pip": no_pip, "host": machine.host, **others})


def having(machine: BuildMachine, **variables: str) -> BuildMachine:
    env = Environment({**machine.host.env.data, **variables}, windows=machine.host.windows)
    return replace(machine, host=replace(machine.host, env=env))


def test_a_healthy_machine_is_told_the_whole(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path))
    assert made.possible, refused(made)
    assert made.version == "2.8.3.post2"
    assert made.source.location == "flash_attn-2.8.3.post2.tar.gz"
    assert made.source.sha256 is not None
    assert made.archs == ("8.0",)
    assert made.toolset.version == "14.44.35207"
    assert made.environment["FLASH_ATTN_CUDA_ARCHS"] == "80"
    assert made.environment["DISTUTILS_USE_SDK"] == "1"
    assert made.environment["MAX_JOBS"] == str(made.jobs) == "8"
    assert made.local_version == "cu128torch2.9"
    assert made.root.startswith(r"C:\tw\b\flash-attn-")
    assert all(d.reason for d in made.decisions)
    assert codec.from_json(BuildPlan, codec.to_json(made)) == made


def test_the_same_inputs_give_the_same_folder(tmp_path: Path) -> None:
    order, machine = Order(recipe="flash-attn"), windows(tmp_path)
    first = plan(order, machine).root
    assert plan(replace(order, jobs=1), replace(machine, resources=room(20))).root == first
    assert plan(replace(order, archs=("9.0",)), machine).root != first
    assert plan(replace(order, version="2.8.2"), machine).root != first


# --- what is refused

ALL = ("14.29.30133", "14.39.33519", "14.44.35207", "14.50.35717", "14.51.36014")
NEWEST = (msvc("14.50.35717"), msvc("14.51.36014"))
BUNDLED = toolkit("12.8", path=r"C:\py\triton\backends\nvidia", layout="bundled", nvcc=None)
NOTHING = PythonDev()
assert HEALTHY.python_dev is not None
NO_LIBRARY = replace(HEALTHY.python_dev, import_library=None)


@pytest.mark.parametrize(
    ("facts", "asked", "words"),
    [
        ({"msvc": NEWEST}, {}, ("nvcc-host-compiler-mismatch: no MSVC toolset goes with CUDA 12.8",
          "14.50.35717 of Visual Studio Build Tools 2026: nvcc of CUDA 12.8 accepts", "(v14.44)")),
        ({}, {"msvc": "14.38"}, ("no MSVC toolset 14.38; there are 14.44.35207",)),
        ({"msvc": ()}, {}, ("vs-components-missing",)),
        ({"cuda_toolkits": (toolkit("13.0"), toolkit("12.6", missing=("nvcc",)))}, {},
         ("cuda-toolkit-for-build", "is CUDA 13.0", "no nvcc")),
        ({"cuda_toolkits": (BUNDLED,)}, {}, (r"nvidia (no nvcc)",)),
        ({"torch": torch("2.5.1", "11.6"), "cuda_toolkits": (toolkit("11.6"),)}, {},
         ("wants CUDA >=11.7, this is 11.6",)),
        ({"gpus": ()}, {}, ("build-arch-unknown", "--arch 8.9")),
        ({"torch": None}, {}, ("build-isolation-hides-torch",)),
        ({"torch": torch("2.9.1+cpu", None)}, {}, ("cpu-only-torch",)),
        ({"python_dev": NOTHING}, {}, ("embedded-python-no-headers",)),
        ({"python_dev": NO_LIBRARY}, {}, ("python-libs-not-found-venv-uv",)),
        ({}, {"cuda": "99.9"}, ("--cuda 99.9 names none",)),
        ({}, {"cuda": "banana"}, ("--cuda banana names none",
                                  "banana (the folder does not exist)")),
    ],
)  # fmt: skip
def test_a_plan_is_refused_with_its_reason(
    tmp_path: Path, facts: dict[str, Any], asked: dict[str, Any], words: tuple[str, ...]
) -> None:
    made = plan(Order(recipe=FLASH, **asked), windows(tmp_path, **facts))
    for text in words:
        assert text in refused(made)
    assert all(r.help for r in made.refusals)


def test_a_bound_is_never_said_to_be_lower(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn", jobs=2), windows(tmp_path))
    assert made.memory.bound == 14.5 * GIB
    assert said(made, "memory").startswith("about 12 GiB, never above 15 GiB; ")


def test_a_machine_without_memory_is_refused_unless_asked_for(tmp_path: Path) -> None:
    small = replace(windows(tmp_path), resources=room(6))
    made = plan(Order(recipe="flash-attn"), small)
    assert "build-resource-limits" in refused(made)
    asked = plan(Order(recipe="flash-attn", jobs=2), small)
    assert asked.possible
    assert asked.jobs == 2
    assert any("may be killed" in text for text in asked.warnings)


def test_more_jobs_later_keep_the_model(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path)).with_jobs(2)
    assert made.environment["MAX_JOBS"] == "2"
    assert made.memory.bound == made.memory.base + 2 * made.memory.compiler


# --- toolkit and toolset


CUDA_13 = torch("2.11.0+cu130", "13.0")


@pytest.mark.parametrize(
    ("facts", "asked", "cuda", "toolset"),
    [
        # by nvcc's host_config.h and the STL; the newest toolset is often too new
        *(({"torch": torch("2.7.0", v), "cuda_toolkits": (toolkit(v),),
            "msvc": tuple(map(msvc, ALL))}, {}, v, best)
          for v, best in (("11.8", "14.39.33519"), ("12.4", "14.44.35207"),
                          ("12.8", "14.44.35207"), ("13.0", "14.44.35207"),
                          ("13.2", "14.51.36014"))),
        # a toolkit that is there comes before one that would be assembled; any minor version
        ({"torch": torch("2.9.0", "12.4"), "cuda_toolkits": (toolkit("12.1"), toolkit("12.8"))},
         {}, "12.8", "14.44.35207"),
        ({"cuda_toolkits": (toolkit("12.8"), toolkit("12.6"))}, {"cuda": "12.6"}, "12.6", None),
        ({"cuda_toolkits": (BUNDLED, toolkit("12.8"))}, {}, "12.8", None),
        ({"torch": CUDA_13, "cuda_toolkits": (toolkit("13.0"),)}, {"cuda": "assembled"},
         "13.0 assembled", None),
        ({"torch": CUDA_13, "cuda_toolkits": (toolkit("13.0"),)}, {}, "13.0 system", None),
        # the toolkit's own header ends at _MSC_VER 1939, whatever the table says of CUDA 12.8
        ({"cuda_toolkits": (toolkit("12.8", host_msvc_max="1939"),),
          "msvc": (msvc("14.39.33519"), msvc("14.44.35207"))}, {}, "12.8", "14.39.33519"),
        # a whole toolset comes before a newer one that lacks something
        ({"msvc": (msvc("14.44.35207", missing=("omp.h",)), msvc("14.42.34433"))}, {}, "12.8",
         "14.42.34433"),
        ({"msvc": (msvc("14.42.34433"), msvc("14.44.35207", missing=("omp.h",)))}, {}, "12.8",
         "14.42.34433"),
    ],
)  # fmt: skip
def test_the_toolset_goes_with_the_toolkit(
    tmp_path: Path, facts: dict[str, Any], asked: dict[str, Any], cuda: str, toolset: str | None
) -> None:
    made = plan(Order(recipe=FLASH, **asked), windows(tmp_path, **facts))
    assert made.possible, refused(made)
    assert made.toolset is not None
    assert f"{made.cuda.version} {made.cuda.origin}".startswith(cuda)
    assert made.toolset.version == (toolset or "14.44.35207")


def test_where_torch_wants_no_toolkit_any_is_taken(tmp_path: Path) -> None:
    source = tmp_path / "mine-1.0.tar.gz"
    source.touch()
    machine = windows(tmp_path, torch=None, cuda_toolkits=(toolkit("13.0"), toolkit("12.8")))
    made = plan(Order(recipe="cuda-extension", source=str(source)), machine)
    assert made.cuda.version == "13.0"
    assert said(made, "CUDA").endswith("the first that is complete")
    nameless = replace(toolkit("9.0"), version=None)
    request = asked(tmp_path, torch=None, cuda_toolkits=(toolkit("13.0"), nameless))
    assert tools.none_fits(request) == (
        "the build needs a CUDA toolkit, and there is none; "
        r"not taken: C:\CUDA\v9.0 (its version is not known)"
    )


def test_cuda_13_is_assembled_where_there_is_none(tmp_path: Path) -> None:
    machine = windows(tmp_path, torch=torch("2.11.0+cu130", "13.0"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert made.possible, refused(made)
    assert made.cuda.origin == "assembled"
    assert made.cuda.path == str(made.layout.cuda)
    assert {part.version for part in made.cuda.parts} == {"13.0.88", "13.0.96", "13.0.85"}
    assert all(part.file.endswith("win_amd64.whl") for part in made.cuda.parts)
    on_linux = plan(Order(recipe="flash-attn"), linux(tmp_path, torch=torch("2.11.0", "13.0")))
    assert on_linux.cuda is not None
    assert all("x86_64" in part.file for part in on_linux.cuda.parts)


def parts(folder: Path, *members: str) -> list[FileSource]:
    """One wheel with these members, the first of which may be executed."""
    folder.mkdir()
    file = folder / "nvidia_cuda_nvcc-13.0.88-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as made:
        for number, name in enumerate(members):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if number == 0 else 0o644) << 16
            made.writestr(entry, name)
    return [
        FileSource(
            name="nvidia-cuda-nvcc", version="13.0.88", location=file.name, sha256=file_hash(file)
        )
    ]


def test_a_toolkit_is_put_together_once_and_whole(tmp_path: Path) -> None:
    members = (
        "nvidia/cu13/bin/nvcc", "nvidia/cu13/include/cuda.h", "nvidia/cu13/lib/libcudart.so.13",
        "nvidia/cu13/lib/", "nvidia/cublas/lib/other", "../evil",
        "nvidia_cuda_nvcc-13.0.88.dist-info/METADATA",
    )  # fmt: skip
    pinned = parts(tmp_path / "wheels", *members)
    depot = BuildContext(pip=no_pip, folders=[tmp_path / "wheels"], offline=True)
    said: list[object] = []
    depot = replace(depot, on_event=said.append)
    (tmp_path / "b" / "c.part").mkdir(parents=True)
    (tmp_path / "b" / "c.part" / "of an earlier run").touch()
    for _ in range(2):
        assemble(pinned, tmp_path / "b" / "c", depot)
    assert said == ["nvidia-cuda-nvcc 13.0.88"]
    made = {p.relative_to(tmp_path / "b").as_posix() for p in (tmp_path / "b").rglob("*.*")}
    links = {"c/lib/libcudart.so"} if sys.platform != "win32" else set()
    assert made == {"c/include/cuda.h", "c/lib/libcudart.so.13", *links}
    assert os.access(tmp_path / "b" / "c" / "bin" / "nvcc", os.X_OK)
    for folder, evil in (("1", "nvidia/cu13/../../evil"), ("2", "nvidia/cu13/C:/evil")):
        pinned = parts(tmp_path / folder, evil)
        depot = BuildContext(pip=no_pip, folders=[tmp_path / folder], offline=True)
        with pytest.raises(ArchiveError, match="outside its folder"):
            assemble(pinned, tmp_path / "c", depot)
    assert not list(tmp_path.rglob("evil"))


def test_parts_without_a_compiler_are_no_toolkit(tmp_path: Path) -> None:
    pinned = parts(tmp_path / "wheels", "nvidia/cu13/include/cuda.h")
    depot = BuildContext(pip=no_pip, folders=[tmp_path / "wheels"], offline=True)
    with pytest.raises(UserError, match="hold no nvcc"):
        assemble(pinned, tmp_path / "c", depot)
    assert not (tmp_path / "c").exists()


def test_the_standard_library_of_a_toolset_refuses_a_cuda() -> None:
    """nvcc would take it: `accepts` is what the toolkit's own header says."""
    why = tools.toolset_misfit("14.44.35207", "12.3", accepts=">=14.20,<14.50")
    assert why == "its standard library wants CUDA >=12.4 (STL1002)"
    assert tools.toolset_misfit("14.44.35207", None) == ""
    assert (
        tools.toolset_misfit("14.44.35207", "12.8", wants=">=14.50") == "the recipe wants >=14.50"
    )
    assert "older than" in tools.toolset_misfit("14.0.23918", None)


@pytest.mark.parametrize("by", ["name", "path", "PATH"])
def test_the_first_compiler_on_path_or_cxx(tmp_path: Path, by: str) -> None:
    machine = linux(tmp_path)
    other = tmp_path / "bin" / "g++-13"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    named = {"name": " g++-13 ", "path": f" {other} ", "PATH": ""}[by]
    made = plan(Order(recipe=FLASH), having(machine, CXX=named))
    assert made.toolset.compiler == str(other if named else tmp_path / "bin" / "c++")
    assert said(made, "toolset").endswith("the variable CXX" if named else "the first one on PATH")


def test_no_compiler_at_all_is_a_refusal(tmp_path: Path) -> None:
    machine = having(linux(tmp_path), PATH=str(tmp_path / "nothing"))
    assert "no-c-compiler: there is no C++ compiler: c++" in refused(
        plan(Order(recipe=FLASH), machine)
    )


_LINUX = ("bin/ptxas", "bin/nvcc", "nvvm/bin/cicc", "lib64/libcudart.so")
_WINDOWS = (
    "bin/ptxas.exe", "bin/nvcc.exe", "nvvm/bin/cicc.exe", "lib/x64/cudart.lib", "lib/x64/cuda.lib",
)  # fmt: skip


@pytest.fixture(params=[False, True], ids=["Linux", "Windows"])
def on_windows(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def folder(path: Path, *, windows: bool) -> Path:
    """A whole toolkit as NVIDIA installs it on that system."""
    plant(path, *(_WINDOWS if windows else _LINUX), "include/cuda.h", "include/crt/host_config.h")
    (path / "include/cuda.h").write_text("#define CUDA_VERSION 12080\n")
    return path


def asked(tmp: Path, cuda: str | None = None, *, on_windows: bool = True, **facts: Any) -> Request:
    machine = (windows if on_windows else linux)(tmp, **facts)
    order = Order(recipe=FLASH, cuda=cuda)
    return Request(recipe=load(FLASH), order=order, machine=machine)


def versions(request: Request) -> list[str]:
    return [f"{choice.version} {choice.origin}" for choice in tools.toolkits(request)]


def test_a_folder_is_read_as_a_toolkit_of_that_system(tmp_path: Path, *, on_windows: bool) -> None:
    path = folder(tmp_path / "cuda", windows=on_windows)
    here = asked(tmp_path, str(path), on_windows=on_windows, cuda_toolkits=())
    assert versions(here) == ["12.8 system"]
    there = asked(tmp_path, str(path), on_windows=not on_windows, cuda_toolkits=())
    assert versions(there) == []
    refused = tools.none_fits(there)
    assert refused.endswith(f"--cuda {path} names none; not taken: {path} (no cicc, no nvcc)")


def test_a_folder_that_is_known_is_taken_as_it_is_known(tmp_path: Path) -> None:
    known = toolkit("12.4", path=str(tmp_path))
    request = asked(tmp_path, str(tmp_path), cuda_toolkits=(toolkit("12.8"), known))
    assert versions(request) == ["12.4 system"]


@pytest.mark.parametrize(
    ("found", "named", "said"),
    [
        ((), None, "there is none"),
        (
            (toolkit("13.0"), toolkit("12.8", nvcc=None), toolkit("12.4"), toolkit("11.8")),
            "12.6",
            (
                r"--cuda 12.6 names none; not taken: C:\CUDA\v13.0 (is CUDA 13.0); "
                r"C:\CUDA\v12.8 (no nvcc); C:\CUDA\v11.8 (is CUDA 11.8)"
            ),
        ),
        (
            (toolkit("12.8"), toolkit("12.4", exists=False)),
            "C:\\CUDA\\v12.4",
            r"--cuda C:\CUDA\v12.4 names none; not taken: C:\CUDA\v12.4 (the folder does not exist)",
        ),
    ],
)
def test_why_no_toolkit_fits(
    tmp_path: Path, found: tuple[CudaToolkit, ...], named: str | None, said: str
) -> None:
    message = tools.none_fits(asked(tmp_path, named, cuda_toolkits=found))
    assert message == f"the build needs a toolkit of CUDA 12, and {said}"


def test_the_nearest_minor_version_comes_first(tmp_path: Path) -> None:
    found = tuple(toolkit(v) for v in ("12.4", "12.10", "12.9", "12.6", "13.0", "12.8", "12"))
    assert versions(asked(tmp_path, cuda_toolkits=found))[:6] == [
        f"{v} system" for v in ("12.8", "12.9", "12.6", "12.10", "12.4", "12")
    ]
    assert versions(asked(tmp_path, "12.1", cuda_toolkits=found)) == []


def test_what_no_table_knows() -> None:
    assert recipe.msvc_for("99.0") == ""
    assert recipe.toolchain("nvcc", "99.0") == ""
    assert recipe.toolchain("stl", "14.0") == recipe.toolchain("cpp", "no version") == ""
    assert recipe.parts_of("99.0", windows=True) == ()


# --- architectures


@pytest.mark.parametrize(
    ("recipe", "version", "cuda", "asked", "tokens"),
    [
        ("flash-attn", "2.8.3", "12.8", ("8.6", "8.9"), ("80",)),
        ("flash-attn", "2.8.3", "12.8", ("9.0", "12.0"), ("90", "120")),
        ("flash-attn", "2.7.2", "12.8", ("8.9",), ("80", "90")),
        ("flash-attn", "2.8.4", "13.0", ("12.1", "11.0"), ("120", "110")),
        ("sageattention", "2.2.0", "12.8", ("8.6", "9.0", "12.0"), ("8.0", "9.0a", "12.0a")),
        ("cuda-extension", "0", "13.0", ("8.9", "9.0a", "10.0f"), ("8.9", "9.0a", "10.0f")),
    ],
)
def test_the_words_of_the_source(
    recipe: str, version: str, cuda: str, asked: tuple[str, ...], tokens: tuple[str, ...]
) -> None:
    notes = Notes()
    found = archs.choose(load(recipe), version, cuda, notes, gpus=(), asked=asked, windows=True)
    assert notes.refusals == []
    assert found == tokens


@pytest.mark.parametrize(
    ("recipe", "version", "cuda", "asked", "why"),
    [
        ("flash-attn", "2.8.3", "12.6", "12.0", "it takes CUDA >=12.8"),
        ("flash-attn", "2.7.2", "12.8", "12.0", "it takes version >=2.7.3"),
        ("flash-attn", "2.8.3", "12.8", "7.5", "does not compile for 7.5"),
        ("flash-attn", "2.8.3", "13.0", "12.1", "it takes version >=2.8.4"),
        ("sageattention", "2.2.0", "12.3", "8.9", "it takes CUDA >=12.4"),
        ("cuda-extension", "0", "13.0", "7.0", "its nvcc does not know it"),
        ("cuda-extension", "0", "13.0", "8.9a", "does not compile for 8.9a"),
        ("cuda-extension", "0", "13.0", "9.0f", "does not compile for 9.0f"),
    ],
)
def test_what_the_source_would_not_compile(
    recipe: str, version: str, cuda: str, asked: str, why: str
) -> None:
    notes = Notes()
    archs.choose(load(recipe), version, cuda, notes, gpus=(), asked=(asked,), windows=True)
    assert why in notes.refusals[0].message


def test_architectures_as_people_write_them() -> None:
    assert [archs.parse(text) for text in ("8.9", "89", "sm_120", "9.0A")] == [
        "8.9", "8.9", "12.0", "9.0a",
    ]  # fmt: skip
    for text in ("", "x", "8", "8.9;9.0", "8.9b"):
        with pytest.raises(UserError):
            archs.parse(text)


# --- flags and edits


@pytest.mark.parametrize(
    ("version", "torch_version", "cuda", "nvcc", "edit"),
    [
        ("2.8.3.post2", "2.8.0", "12.8", "-D_USE_MATH_DEFINES", '"/std:c++17"'),
        ("2.8.3.post2", "2.13.0", "13.0", "-std=c++20", '"/permissive-"'),
        ("2.8.0", "2.8.0", "12.8", "-Xcompiler /Zc:__cplusplus", '"cxx": ["/O2", "/std:c++17"'),
        ("2.8.3.post2", "2.12.0", "13.2", "-Xcompiler /Zc:preprocessor", '"/Zc:preprocessor"'),
        ("2.8.3.post2", "2.9.0", "12.8", "-DUSE_CUDA=1", '"/D_USE_MATH_DEFINES"'),
    ],
)
def test_flags_by_condition_on_windows(
    tmp_path: Path, version: str, torch_version: str, cuda: str, nvcc: str, edit: str
) -> None:
    machine = windows(
        tmp_path,
        torch=torch(torch_version, cuda),
        cuda_toolkits=(toolkit(cuda),),
        msvc=(msvc("14.44.35207"),),
    )
    made = plan(Order(recipe="flash-attn", version=version), machine)
    assert made.possible, refused(made)
    assert nvcc in made.environment["NVCC_APPEND_FLAGS"]
    assert any(edit in e.replace for e in made.edits)
    # what every cl reads, also the one inside nvcc, must carry nothing
    assert not {"CL", "_CL_"} & made.environment.keys()


def test_linux_needs_no_flags_for_msvc(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), linux(tmp_path))
    assert made.possible, refused(made)
    assert "NVCC_APPEND_FLAGS" not in made.environment
    assert made.edits == ()
    new = plan(Order(recipe="flash-attn"), linux(tmp_path, torch=torch("2.14.0", "12.8")))
    assert [e.replace for e in new.edits] == ['"-std=c++20"']


def test_sageattention_takes_its_flags_by_variables(tmp_path: Path) -> None:
    (tmp_path / "git.exe").touch()
    machine = having(windows(tmp_path, torch=torch("2.13.0", "12.8")), PATH=str(tmp_path))
    made = plan(Order(recipe="sageattention"), machine)
    assert made.possible, refused(made)
    assert made.environment["EXT_PARALLEL"] == "1"
    machine = replace(machine, resources=replace(room(128), cores=32))
    all_at_once = plan(Order(recipe="sageattention"), machine)
    assert (all_at_once.jobs, all_at_once.environment["EXT_PARALLEL"]) == (20, "4")
    assert all_at_once.with_jobs(19).environment["EXT_PARALLEL"] == "1"
    assert made.environment["NVCC_APPEND_FLAGS"].startswith("--threads 1 ")
    assert "/std:c++20" in made.environment["CXX_APPEND_FLAGS"]
    assert made.environment["TORCH_CUDA_ARCH_LIST"] == "8.9"
    assert made.local_version == "cu128torch2.13"


# --- the environment, the snapshot


@pytest.mark.parametrize(
    ("venv", "runtime", "possible"),
    [(True, None, True), (None, None, True), (False, r"C:\embed", True), (False, None, False)],
)
def test_an_environment_to_build_in(
    tmp_path: Path, venv: bool | None, runtime: str | None, possible: bool
) -> None:
    made = plan(Order(recipe=FLASH), replace(windows(tmp_path), venv=venv, runtime=runtime))
    assert made.possible is possible
    assert made.runtime == (None if venv is not False else runtime)
    assert ("no module venv" in refused(made)) is not possible
    assert ("environment" in {d.name for d in made.decisions}) is (made.runtime is not None)


@needs_sh
@pytest.mark.parametrize(("code", "venv"), [(0, True), (1, False), (None, None)])
def test_the_target_is_asked_for_its_venv(tmp_path: Path, code: int | None, venv: object) -> None:
    machine = linux(tmp_path)
    python = tmp_path / "python"
    if code is not None:
        python.write_text(f"#!/bin/sh\nexit {code}\n")
        python.chmod(0o755)
    assert machine.facts.target is not None
    facts = replace(machine.facts, target=replace(machine.facts.target, executable=str(python)))
    found = survey(Order(recipe=FLASH, anyway=True), facts, at(machine))
    assert found.venv is venv
    assert found.disk_free
    assert found.resources.cores >= 1


@pytest.mark.parametrize("on", [windows, linux])
@pytest.mark.parametrize("kind", ["embedded", "venv"])
def test_a_snapshot_is_planned_for_its_machine(
    tmp_path: Path, on: Callable[[Path], BuildMachine], kind: Any
) -> None:
    facts = on(tmp_path).facts
    assert facts.target is not None
    target = replace(facts.target, kind=kind, executable=r"C:\app\python.exe", managers=())
    system = replace(facts.system, memory_bytes=32 * GIB, cpu_count=8)
    facts = replace(facts, target=replace(target, base_executable=None), system=system)
    asked = Order(recipe="sageattention", anyway=True)
    machine = survey(asked, facts, BuildContext(pip=no_pip), elsewhere=True)
    made = plan(asked, machine)
    assert made.possible, refused(made)
    assert made.windows is (on is windows)
    assert made.jobs == 8
    assert (made.runtime is not None) is (kind == "embedded")
    assert any("planned from a snapshot" in text for text in made.warnings)


def test_the_public_lists_are_asked_before_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def sources_for(*_: object, **options: Any) -> Any:
        asked.append(options)
        raise UserError("no network here", "")

    monkeypatch.setattr(order, "sources_for", sources_for)
    machine = windows(tmp_path)
    for offline in (False, True):
        wanted = Order(recipe=FLASH, offline=offline)
        assert survey(wanted, machine.facts, at(machine)).wheel is None
        assert survey(wanted, machine.facts, at(machine), elsewhere=True).wheel is None
    assert [options["public"] for options in asked] == [True, True, False, False]


# --- target, place, wheel


def test_a_wheel_that_exists_is_taken(tmp_path: Path) -> None:
    file = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
    wheel = WheelChoice(
        package="flash-attn", request="flash-attn", version="2.8.3", file=file, source="x"
    )
    machine = replace(windows(tmp_path), wheel=wheel)
    made = plan(Order(recipe="flash-attn"), machine)
    assert f"a wheel that fits exists: {file}" in refused(made)
    assert plan(Order(recipe="flash-attn", anyway=True), machine).possible
    note = f"{file} fits. With --allow-unhashed it is taken."
    none = replace(machine, wheel=replace(wheel, file=None, version=None, notes=(note,)))
    made = plan(Order(recipe="flash-attn"), none)
    assert made.possible
    assert said(made, "wheel").startswith("none fits")
    assert note in made.warnings


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("C:\\Bücher\\b", "is not ASCII"),
        ("\\\\server\\share\\b", "is on a server"),
        ("C:\\" + "long\\" * 25, "build-path-too-long"),
    ],
)
def test_folders_in_which_builds_fail(tmp_path: Path, root: str, why: str) -> None:
    machine = windows(tmp_path)
    system = replace(machine.facts.system, long_paths=False)
    machine = replace(machine, facts=replace(machine.facts, system=system))
    order = Order(recipe="flash-attn", root=AbsolutePath(root))
    made = plan(order, machine)
    (told,) = [r.message for r in made.refusals if why in f"{r.problem} {r.message}"]
    assert made.root in told


class AbsolutePath(type(Path())):  # type: ignore[misc]
    """A path of Windows on Linux, which `absolute` must leave as it is."""

    def absolute(self) -> AbsolutePath:
        return self


def test_a_disk_without_room(tmp_path: Path) -> None:
    made = plan(Order(recipe=FLASH), replace(windows(tmp_path), disk_free=GIB // 10))
    assert "0.1 GiB free" in refused(made)


@pytest.mark.parametrize("name", ["\udcff\udcfe", "a\nb"])
@pytest.mark.parametrize("asked", [True, False])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str, asked: bool) -> None:
    """The message names the option, and not a variable that the build would have been given."""
    machine = linux(tmp_path)
    home = having(machine, TRITONWIN_HOME=str(tmp_path / name))
    order = Order(recipe="flash-attn", root=tmp_path / name if asked else None)
    with pytest.raises(UserError, match="folder for builds is not text") as caught:
        plan(order, machine if asked else home)
    assert "--root DIR" in caught.value.help


def test_no_python_is_no_target(tmp_path: Path) -> None:
    for target in (None, replace(machines.HEALTHY.target, version=None)):  # type: ignore[type-var]
        with pytest.raises(UserError, match="no Python to build for"):
            plan(Order(recipe=FLASH), windows(tmp_path, target=target))


def test_makefiles_cut_paths_with_blanks(tmp_path: Path) -> None:
    made = plan(Order(recipe=FLASH, root=tmp_path / "a b"), linux(tmp_path))
    assert "has a blank, which the build's makefiles cut in two" in refused(made)
    assert plan(Order(recipe=FLASH, root=Path("a b")), windows(tmp_path)).possible


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("A B", "1", "is not a valid name"),
        ("", "1", "is not a valid name"),
        ("A=B", "1", "is not a valid name"),
        ("MAX_JOBS", "4 ", "stray blank"),
        ("MAX_JOBS", '"4"', "stray blank, quote"),
        ("MAX_JOBS", "4\n5", "control character"),
    ],
)
def test_variables_that_programs_would_misread(name: str, value: str, why: str) -> None:
    with pytest.raises(UnfitEnvironmentError, match=why):
        command.checked({"GOOD": "1", name: value})


def test_the_plans_environment_on_linux(tmp_path: Path) -> None:
    """No Visual Studio is captured; the plan's folders come first on PATH."""
    machine = having(linux(tmp_path), MAX_JOBS="64 ", PYTHONPATH="x", KEPT=" 1 ")
    made = replace(plan(Order(recipe=FLASH), machine), path=("/first",))
    found = variables(made, machine.host)
    assert found["PATH"] == f"/scripts:/first:{tmp_path / 'bin'}"
    assert (found["MAX_JOBS"], found["KEPT"]) == ("8", "1")
    bare = replace(machine.host, env=Environment({}, windows=False))
    assert variables(made, bare)["PATH"] == "/scripts:/first"


def variables(made: BuildPlan, host: Host) -> dict[str, str]:
    start = command.command(made, host, ["/scripts"])
    return start.environment(command.inherited(made, host))


def test_a_ref_is_built_from_the_recipes_repository(tmp_path: Path) -> None:
    (tmp_path / "git.exe").touch()
    machine = having(windows(tmp_path), PATH=str(tmp_path))
    made = plan(Order(recipe=FLASH, ref="v9.9", version="9.9"), machine)
    assert (made.source.kind, made.source.ref, made.version) == ("git", "v9.9", "9.9")
    assert made.source.location == load(FLASH).repository
    # without a version the newest one's conditions hold
    assert plan(Order(recipe=FLASH, ref="main"), machine).version == load(FLASH).releases[0].version


def test_a_triton_that_torch_wants_and_nobody_has_is_the_newest(tmp_path: Path) -> None:
    releases = load("triton").releases
    for version, wanted, why in (
        ("2.3.1", releases[0].version, "the newest that the recipe knows"),
        ("2.9.1", next(r.version for r in releases if r.version.startswith("3.5.")), "Triton 3.5"),
    ):
        made = plan(Order(recipe="triton"), windows(tmp_path, torch=torch(version, "12.1")))
        assert made.version == wanted
        assert why in " ".join(d.reason for d in made.decisions)


def test_a_release_that_lies_here_is_held_to_the_recipes_hash(tmp_path: Path) -> None:
    release = load(FLASH).releases[0]
    assert release.file
    file = tmp_path / release.file
    file.touch()
    made = plan(Order(recipe=FLASH, source=str(file)), windows(tmp_path))
    assert (made.version, made.source.sha256) == (release.version, release.sha256)
    other = tmp_path / "other.tar.gz"
    other.touch()
    made = plan(Order(recipe=FLASH, source=str(other)), windows(tmp_path))
    assert (made.version, made.source.sha256) == ("0", None)


def test_a_pip_that_fails_makes_no_wheel_and_no_failure(tmp_path: Path) -> None:
    class Broken(Pip):
        def run(self, args: Any, *, timeout: float, heard: Any = None) -> Completed:
            raise PipError("pip is broken", "Repair it.")

    machine = windows(tmp_path)
    found = survey(Order(recipe=FLASH), machine.facts, at(machine, pip=lambda: Broken(("pip",))))
    assert found.wheel is None


@pytest.mark.parametrize(
    ("order", "why"),
    [
        ({"nvcc_flags": ("a\nb",)}, "NVCC_APPEND_FLAGS has a stray blank, quote or control"),
        ({"nvcc_flags": ('-DX="',)}, "NVCC_APPEND_FLAGS has a stray"),
        ({"source": ""}, "--source is empty"),
        ({"source": "  "}, "--source is empty"),
        ({"source": "nowhere"}, "nowhere cannot be built"),
        ({"version": "9.9"}, "has no version 9.9"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, order: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why) as refused:
        planned(tmp_path, **order)
    assert refused.value.help
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("version", ["2.9.0a0+gitabc", "my build/7", "main", "", "x" * 300])
def test_a_torch_of_any_version_gives_a_wheel_a_name(tmp_path: Path, version: str) -> None:
    machine = machines.linux(tmp_path, torch=machines.torch(version, "12.8"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert Version(f"2.8.3+{made.local_version}").local
    assert made.local_version.startswith("cu128torch")


def test_no_architecture_has_its_reason(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), machines.linux(tmp_path, gpus=()))
    (archs,) = [d for d in made.decisions if d.name == "archs"]
    assert (archs.value, archs.reason) == ("none", "no NVIDIA GPU is here, and none is asked for")


@pytest.mark.parametrize("name", ["Flash-Attn", "flash_attn", "FLASH.ATTN"])
def test_a_recipe_has_the_spellings_of_its_package(tmp_path: Path, name: str) -> None:
    assert load(name).name == "flash-attn"
    assert planned(tmp_path, name).root == planned(tmp_path).root


@pytest.mark.parametrize("name", ["../flash-attn", "", "flash attn", "recipes/triton", "."])
def test_no_other_name_is_a_recipe(name: str) -> None:
    with pytest.raises(UserError, match="there is no recipe"):
        load(name)


FITS = "flash_attn-2.8.3+cu128torch2.9-cp312-cp312-win_amd64.whl"
ANOTHER_TORCH = "flash_attn-2.8.3+cu128torch2.8-cp312-cp312-win_amd64.whl"


@pytest.mark.parametrize(("file", "fits"), [(FITS, True), (ANOTHER_TORCH, False)])
def test_a_wheel_that_exists_is_found_first(tmp_path: Path, file: str, fits: bool) -> None:
    wheels = tmp_path / "wheels"
    make_wheel(wheels, file)
    machine = machines.windows(tmp_path)
    order = Order(recipe="flash-attn", offline=True)
    found = survey(order, machine.facts, at(machine, folders=(wheels,)))
    assert (found.wheel.file == file) == fits
    made = plan(order, replace(found, resources=machines.room(64)))
    assert ("a wheel that fits exists" in str(made.refusals)) == fits
    if not fits:
        assert "needs torch 2.8, this is torch 2.9" in str(made.decisions)
    anyway = survey(replace(order, anyway=True), machine.facts, at(machine))
    assert anyway.wheel is None


def test_a_folder_is_examined(tmp_path: Path) -> None:
    machine = machines.linux(tmp_path)
    source = tmp_path / "p"
    (source / "flash_attn").mkdir(parents=True)
    order = Order(recipe="flash-attn", source=str(source))
    with pytest.raises(UserError, match=r"neither setup\.py nor pyproject\.toml"):
        survey(order, machine.facts, at(machine))
    (source / "setup.py").touch()
    (source / "flash_attn" / "__init__.py").write_text('__version__ = "2.8.4"\n')
    found = survey(order, machine.facts, at(machine)).checkout
    assert found.version == "2.8.4"


# --- recipes


@pytest.mark.parametrize("name", names())
def test_every_recipe_is_whole(name: str) -> None:
    recipe = load(name)
    assert recipe.summary
    assert all(row.why for row in (*recipe.variables, *recipe.flags, *recipe.edits))
    assert all((r.file and r.sha256 and len(r.sha256) == 64) or r.ref for r in recipe.releases)
    assert any(row.value == "{jobs}" for row in recipe.variables)


@pytest.mark.parametrize("name", names())
def test_a_program_of_python_imports_nothing_of_the_project(name: str, tmp_path: Path) -> None:
    """Unlike its setup.py, whose folder is that of the project."""
    words = load(name).command
    if "-m" not in words:
        assert words[0] == "setup.py"
        return
    for module in ("pip", "logging", "runpy"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('planted')\n")
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert b"setup.py" in done.stderr, done.stderr  # pip itself asks for it
    assert not list(tmp_path.glob("*.whl"))


def test_a_series_stands_for_its_newest_release() -> None:
    found = load("flash-attn").release("2.8")
    assert found.version == "2.8.3.post2"
    assert load("flash-attn").release("2.5") is None
