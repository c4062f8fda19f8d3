"""Plans of builds: the choice and its reason, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from machines import linux, msvc, room, toolkit, torch, windows

from tritonwin.build import archs
from tritonwin.build.jobs import choose, container_free, resources
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.plan import GIB, BuildPlan, Notes
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load, names
from tritonwin.build.toolkit import name_libraries
from tritonwin.errors import UserError
from tritonwin.facts.records import PythonDev, Variable
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system import codec


def said(made: BuildPlan, name: str) -> str:
    found = next(d for d in made.decisions if d.name == name)
    return f"{found.value}; {found.reason}"


def refused(made: BuildPlan) -> str:
    return " | ".join(f"{r.problem}: {r.message} {r.help}" for r in made.refusals)


def test_a_healthy_machine_is_told_the_whole(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path))
    assert made.possible, refused(made)
    assert made.version == "2.8.3.post2"
    assert made.source.location == "flash_attn-2.8.3.post2.tar.gz"
    assert made.source.sha256 is not None
    assert made.archs == ("8.0",)
    assert made.toolset is not None
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


@pytest.mark.parametrize(("home", "used"), [("cuda", True), ("Program Files", False)])
def test_ccache_on_path_answers_for_nvcc(tmp_path: Path, home: str, used: bool) -> None:
    there = replace(toolkit("12.8"), path=str(tmp_path / home))
    machine = linux(tmp_path, cuda_toolkits=(there,))
    assert "PYTORCH_NVCC" not in plan(Order(recipe="flash-attn"), machine).environment
    cache = tmp_path / "bin" / "ccache"
    cache.write_text("#!/bin/sh\n")
    cache.chmod(0o755)
    made = plan(Order(recipe="flash-attn"), machine)
    expected = f"{cache} {tmp_path / home / 'bin' / 'nvcc'}" if used else None
    assert made.environment.get("PYTORCH_NVCC") == expected
    assert ("not used" in said(made, "ccache")) is not used


# --- memory


def test_the_expected_peak_is_the_one_that_was_measured() -> None:
    """16 jobs of one thread, sm_90, nvcc 13.0: what was seen on three occasions."""
    found = choose(load("flash-attn").memory, room(118), Notes(), files=73, archs=1)
    assert (found.jobs, found.threads) == (16, 1)
    for seen in (63, 70.4, 72.3):
        assert found.memory.expected == pytest.approx(seen * GIB, rel=0.15)
        assert found.memory.bound >= seen * GIB


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


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"memory.max": "1000", "memory.current": "700"}, 300),
        (
            {
                "memory.max": "1000",
                "memory.current": "700",
                "memory.stat": "anon 500\ninactive_file 150\n",
            },
            450,
        ),
        ({"memory.max": "max", "memory.current": "700"}, None),
        ({}, None),
    ],
)
def test_the_limit_of_a_container(tmp_path: Path, files: dict[str, str], free: int | None) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert container_free(tmp_path) == free


def test_the_memory_of_this_machine_is_asked_of_the_system() -> None:
    here = resources()
    assert here.cores >= 1
    assert here.allocatable is not None
    assert here.physical is not None
    assert 0 < here.physical <= here.allocatable < 2**50


# --- toolkit and toolset


ALL = ("14.29.30133", "14.39.33519", "14.44.35207", "14.50.35717", "14.51.36014")


@pytest.mark.parametrize(
    ("cuda", "toolset"),
    [
        ("11.8", "14.39.33519"),
        ("12.4", "14.44.35207"),
        ("12.8", "14.44.35207"),
        ("13.0", "14.44.35207"),
        ("13.2", "14.51.36014"),
    ],
)
def test_the_toolset_goes_with_the_toolkit(tmp_path: Path, cuda: str, toolset: str) -> None:
    machine = windows(
        tmp_path,
        torch=torch("2.7.0", cuda),
        cuda_toolkits=(toolkit(cuda),),
        msvc=tuple(msvc(version) for version in ALL),
    )
    made = plan(Order(recipe="flash-attn"), machine)
    assert made.possible, refused(made)
    assert made.toolset is not None
    assert made.toolset.version == toolset


def test_a_refusal_names_every_toolset_and_why(tmp_path: Path) -> None:
    machine = windows(tmp_path, msvc=(msvc("14.50.35717"), msvc("14.51.36014")))
    made = plan(Order(recipe="flash-attn"), machine)
    assert "nvcc-host-compiler-mismatch" in refused(made)
    assert "14.50.35717 of Visual Studio Build Tools 2026: nvcc of CUDA 12.8 accepts" in refused(
        made
    )
    assert "14.44" in refused(made)


def test_a_toolset_that_was_asked_for_and_is_not_there(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn", msvc="14.38"), windows(tmp_path))
    assert "no MSVC toolset 14.38; there are 14.44.35207" in refused(made)


def test_no_visual_studio(tmp_path: Path) -> None:
    assert "vs-components-missing" in refused(
        plan(Order(recipe="flash-attn"), windows(tmp_path, msvc=()))
    )


def test_a_toolkit_with_a_compiler_comes_before_one_without(tmp_path: Path) -> None:
    machine = windows(
        tmp_path,
        torch=torch("2.9.0", "12.4"),
        cuda_toolkits=(toolkit("12.1"), toolkit("12.8")),
    )
    made = plan(Order(recipe="flash-attn"), machine)
    assert made.cuda is not None
    assert made.cuda.version == "12.8"


def test_cuda_13_is_assembled_where_there_is_none(tmp_path: Path) -> None:
    machine = windows(tmp_path, torch=torch("2.11.0+cu130", "13.0"))
    made = plan(Order(recipe="flash-attn"), machine)
    assert made.possible, refused(made)
    assert made.cuda is not None
    assert made.cuda.origin == "assembled"
    assert made.cuda.path == str(made.layout.cuda)
    assert {part.version for part in made.cuda.parts} == {"13.0.88", "13.0.96", "13.0.85"}
    assert all(part.file.endswith("win_amd64.whl") for part in made.cuda.parts)
    on_linux = plan(Order(recipe="flash-attn"), linux(tmp_path, torch=torch("2.11.0", "13.0")))
    assert on_linux.cuda is not None
    assert all("x86_64" in part.file for part in on_linux.cuda.parts)


def test_cuda_12_is_not_on_the_package_index(tmp_path: Path) -> None:
    machine = windows(tmp_path, cuda_toolkits=(toolkit("13.0"), toolkit("12.6", missing=("nvcc",))))
    made = plan(Order(recipe="flash-attn"), machine)
    assert "cuda-toolkit-for-build" in refused(made)
    assert "is CUDA 13.0" in refused(made)
    assert "no nvcc" in refused(made)


def test_the_wheels_beside_torch_are_a_toolkit(tmp_path: Path) -> None:
    """NVIDIA's wheels for Linux hold libcudart.so.13 and not the name that a linker asks for."""
    there = toolkit("13.0", layout="pip-cu13", missing=("cudart.lib",))
    new = torch("2.11.0+cu130", "13.0")
    made = plan(Order(recipe="flash-attn"), linux(tmp_path, torch=new, cuda_toolkits=(there,)))
    assert made.cuda is not None
    assert made.cuda.origin == "packages"
    assert made.environment["LIBRARY_PATH"] == str(made.layout.cuda)
    lib = tmp_path / "cu13" / "lib"
    lib.mkdir(parents=True)
    (lib / "libcudart.so.13").write_text("library")
    for _ in range(2):
        name_libraries(lib, tmp_path / "named")
    assert (tmp_path / "named" / "libcudart.so").read_text() == "library"
    assert not (lib / "libcudart.so").exists()
    # on Windows the wheels hold cudart.lib, so that without it something is wrong
    other = plan(Order(recipe="flash-attn"), windows(tmp_path, torch=new, cuda_toolkits=(there,)))
    assert other.cuda is not None
    assert other.cuda.origin == "assembled"


def test_what_triton_brings_along_builds_nothing(tmp_path: Path) -> None:
    bundled = toolkit("12.8", path=r"C:\py\triton\backends\nvidia", layout="bundled", nvcc=None)
    made = plan(Order(recipe="flash-attn"), windows(tmp_path, cuda_toolkits=(bundled,)))
    assert r"nvidia (no nvcc)" in refused(made)
    both = windows(tmp_path, cuda_toolkits=(bundled, toolkit("12.8")))
    assert plan(Order(recipe="flash-attn"), both).possible


def test_a_toolkit_by_its_version(tmp_path: Path) -> None:
    machine = windows(tmp_path, cuda_toolkits=(toolkit("12.8"), toolkit("12.6")))
    made = plan(Order(recipe="flash-attn", cuda="12.6"), machine)
    assert made.cuda is not None
    assert made.cuda.version == "12.6"


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


def test_a_machine_without_a_gpu_is_asked_for_the_architecture(tmp_path: Path) -> None:
    made = plan(Order(recipe="flash-attn"), windows(tmp_path, gpus=()))
    assert "--arch 8.9" in refused(made)
    named = plan(Order(recipe="flash-attn", archs=("9.0",)), windows(tmp_path, gpus=()))
    assert named.archs == ("9.0",)


@pytest.mark.parametrize(
    ("text", "arch"), [("8.9", "8.9"), ("89", "8.9"), ("sm_120", "12.0"), ("9.0A", "9.0a")]
)
def test_architectures_as_people_write_them(text: str, arch: str) -> None:
    assert archs.parse(text) == arch


@pytest.mark.parametrize("text", ["", "x", "8", "8.9;9.0", "8.9b"])
def test_what_is_no_architecture(text: str) -> None:
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
    machine = windows(tmp_path, torch=torch("2.13.0", "12.8"))
    machine = replace(machine, host=with_git(tmp_path, machine))
    made = plan(Order(recipe="sageattention"), machine)
    assert made.possible, refused(made)
    assert made.environment["EXT_PARALLEL"] == "1"
    assert made.environment["NVCC_APPEND_FLAGS"].startswith("--threads 1 ")
    assert "/std:c++20" in made.environment["CXX_APPEND_FLAGS"]
    assert made.environment["TORCH_CUDA_ARCH_LIST"] == "8.9"
    assert made.environment["SAGEATTENTION_WHEEL_VERSION_SUFFIX"] == "+cu128torch2.13"


def with_git(tmp_path: Path, machine: BuildMachine) -> object:
    (tmp_path / "git.exe").touch()
    env = replace(machine.host.env, data={"PATH": str(tmp_path)})
    return replace(machine.host, env=env)


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
    none = replace(machine, wheel=replace(wheel, file=None, version=None))
    assert plan(Order(recipe="flash-attn"), none).possible
    assert said(plan(Order(recipe="flash-attn"), none), "wheel").startswith("none fits")


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"torch": None}, "build-isolation-hides-torch"),
        ({"torch": torch("2.9.1+cpu", None)}, "cpu-only-torch"),
        (
            {
                "python_dev": PythonDev(
                    headers=None,
                    headers_version=None,
                    headers_free_threaded=None,
                    headers_missing=(),
                    headers_damaged=(),
                    import_library=None,
                    import_library_dll=None,
                )
            },
            "embedded-python-no-headers",
        ),
    ],
)
def test_what_a_target_lacks(tmp_path: Path, facts: dict[str, object], why: str) -> None:
    assert why in refused(plan(Order(recipe="flash-attn"), windows(tmp_path, **facts)))


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
    made = plan(Order(recipe="flash-attn"), replace(windows(tmp_path), disk_free=GIB // 10))
    assert "0.1 GiB free" in refused(made)


def test_stray_blanks_are_reported(tmp_path: Path) -> None:
    flawed = Variable(name="MAX_JOBS", value="4 ", scope="process", flaws=("trailing-blank",))
    made = plan(Order(recipe="flash-attn"), windows(tmp_path, variables=(flawed,)))
    assert any("MAX_JOBS" in text for text in made.warnings)


@pytest.mark.parametrize("name", ["\udcff\udcfe", "a\nb"])
@pytest.mark.parametrize("asked", [True, False])
def test_a_folder_whose_name_is_no_text(tmp_path: Path, name: str, asked: bool) -> None:
    """The message names the option, and not a variable that the build would have been given."""
    machine = linux(tmp_path)
    data = {**machine.host.env.data, "TRITONWIN_HOME": str(tmp_path / name)}
    home = replace(machine, host=replace(machine.host, env=replace(machine.host.env, data=data)))
    order = Order(recipe="flash-attn", root=tmp_path / name if asked else None)
    with pytest.raises(UserError, match="folder for builds is not text") as caught:
        plan(order, machine if asked else home)
    assert "--root DIR" in caught.value.help


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
    assert found is not None
    assert found.version == "2.8.3.post2"
    assert load("flash-attn").release("2.5") is None
