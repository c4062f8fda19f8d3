"""Plans of builds at their edges: odd toolkits and compilers, memory, references, disks, variables."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import machines
import pytest
from machines import linux, msvc, toolkit, torch, windows
from trees import plant, write

from tritonwin.build import command, jobs, order, recipe, tools
from tritonwin.build import jobs as compilers
from tritonwin.build import toolkit as toolkits
from tritonwin.build.command import UnfitEnvironmentError
from tritonwin.build.jobs import Resources
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.plan import GIB, BuildPlan, Notes, PinnedFile
from tritonwin.build.planner import plan
from tritonwin.build.recipe import MemoryModel, load
from tritonwin.build.source import SourceCache
from tritonwin.build.toolkit import assemble
from tritonwin.errors import UserError
from tritonwin.facts.records import CudaToolkit
from tritonwin.journal.tree import file_hash
from tritonwin.support.pip import Pip, PipError
from tritonwin.system.host import Environment, Host, merged
from tritonwin.system.process import Completed

FLASH = "flash-attn"
needs_sh = pytest.mark.skipif(os.name == "nt", reason="its stand-ins are scripts of sh")


def refused(made: BuildPlan) -> str:
    return " | ".join(f"{r.problem}: {r.message} {r.help}" for r in made.refusals)


def having(machine: BuildMachine, **variables: str) -> BuildMachine:
    env = Environment({**machine.host.env.data, **variables}, windows=machine.host.windows)
    return replace(machine, host=replace(machine.host, env=env))


# --- toolkits


def test_an_assembled_toolkit_can_be_asked_for_where_one_is_installed(tmp_path: Path) -> None:
    machine = windows(
        tmp_path, torch=torch("2.11.0+cu130", "13.0"), cuda_toolkits=(toolkit("13.0"),)
    )
    asked = plan(Order(recipe=FLASH, cuda="assembled"), machine)
    assert asked.cuda is not None
    assert asked.cuda.origin == "assembled"
    usual = plan(Order(recipe=FLASH), machine)
    assert usual.cuda is not None
    assert usual.cuda.origin == "system"


def test_a_source_without_torch_takes_any_toolkit(tmp_path: Path) -> None:
    source = tmp_path / "mine-1.0.tar.gz"
    source.touch()
    machine = windows(tmp_path, torch=None, cuda_toolkits=(toolkit("13.0"), toolkit("12.8")))
    made = plan(Order(recipe="cuda-extension", source=str(source)), machine)
    assert made.cuda is not None
    assert made.cuda.version == "13.0"
    assert any(d.reason == "the first that is complete" for d in made.decisions)


def test_the_range_that_a_toolkits_own_header_states_counts(tmp_path: Path) -> None:
    """`host_config.h` of this one ends at _MSC_VER 1939, whatever the table says of CUDA 12.8."""
    machine = windows(
        tmp_path,
        cuda_toolkits=(toolkit("12.8", host_msvc_max="1939"),),
        msvc=(msvc("14.39.33519"), msvc("14.44.35207")),
    )
    made = plan(Order(recipe=FLASH), machine)
    assert made.toolset is not None
    assert made.toolset.version == "14.39.33519"


def test_a_toolkit_older_than_the_source_takes_is_refused(tmp_path: Path) -> None:
    newest = load(FLASH).releases[0]
    assert newest.cuda
    machine = windows(tmp_path, torch=torch("2.5.1", "11.6"), cuda_toolkits=(toolkit("11.6"),))
    assert f"wants CUDA {newest.cuda}, this is 11.6" in refused(plan(Order(recipe=FLASH), machine))


def parts(folder: Path, *members: str) -> list[PinnedFile]:
    """One wheel with these members, the first of which may be executed."""
    folder.mkdir()
    file = folder / "nvidia_cuda_nvcc-13.0.88-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as made:
        for number, name in enumerate(members):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if number == 0 else 0o644) << 16
            made.writestr(entry, name)
    return [
        PinnedFile(
            name="nvidia-cuda-nvcc", version="13.0.88", file=file.name, sha256=file_hash(file)
        )
    ]


def test_a_toolkit_is_put_together_once_and_whole(tmp_path: Path) -> None:
    members = (
        "nvidia/cu13/bin/nvcc", "nvidia/cu13/include/cuda.h", "nvidia/cu13/lib/libcudart.so.13",
        "nvidia/cu13/lib/", "nvidia/cublas/lib/other", "../evil", "nvidia/cu13/../../evil",
        "nvidia/cu13/C:/evil", "nvidia_cuda_nvcc-13.0.88.dist-info/METADATA",
    )  # fmt: skip
    pinned = parts(tmp_path / "wheels", *members)
    depot = SourceCache(pip=Pip(("no pip",)), folders=[tmp_path / "wheels"], offline=True)
    said: list[str] = []
    (tmp_path / "b" / "c.part").mkdir(parents=True)
    (tmp_path / "b" / "c.part" / "of an earlier run").touch()
    for _ in range(2):
        assemble(pinned, tmp_path / "b" / "c", depot, said.append)
    assert said == ["nvidia-cuda-nvcc 13.0.88"]
    made = {p.relative_to(tmp_path / "b").as_posix() for p in (tmp_path / "b").rglob("*.*")}
    links = {"c/lib/libcudart.so"} if sys.platform != "win32" else set()
    assert made == {"c/include/cuda.h", "c/lib/libcudart.so.13", *links}
    assert os.access(tmp_path / "b" / "c" / "bin" / "nvcc", os.X_OK)
    assert not list(tmp_path.rglob("evil"))


def test_parts_without_a_compiler_are_no_toolkit(tmp_path: Path) -> None:
    pinned = parts(tmp_path / "wheels", "nvidia/cu13/include/cuda.h")
    depot = SourceCache(pip=Pip(("no pip",)), folders=[tmp_path / "wheels"], offline=True)
    with pytest.raises(UserError, match="hold no nvcc"):
        assemble(pinned, tmp_path / "c", depot, str)
    assert not (tmp_path / "c").exists()


# --- compilers


def test_the_standard_library_of_a_toolset_refuses_a_cuda() -> None:
    """nvcc would take it: `accepts` is what the toolkit's own header says."""
    why = tools.why_not("14.44.35207", cuda="12.3", accepts=">=14.20,<14.50")
    assert why == "its standard library wants CUDA >=12.4 (STL1002)"
    assert tools.why_not("14.44.35207", cuda=None) == ""
    assert tools.why_not("14.44.35207", cuda="12.8", wants=">=14.50") == "the recipe wants >=14.50"
    assert "older than" in tools.why_not("14.0.23918", cuda=None)


def gcc(folder: Path, name: str, says: str, code: int = 0) -> str:
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\necho {says}\nexit {code}\n")
    file.chmod(0o755)
    return str(file)


@needs_sh
@pytest.mark.parametrize(
    ("says", "code", "version"), [("12.2.0", 0, "12.2.0"), ("clang", 0, ""), ("12", 1, "")]
)
def test_the_compiler_on_path_is_asked_its_version(
    tmp_path: Path, says: str, code: int, version: str
) -> None:
    machine = linux(tmp_path)
    gcc(tmp_path, "c++", says, code)
    notes = Notes()
    found = tools.choose_gcc(machine.host, "12.8", notes)
    assert found is not None
    assert found.version == version
    assert notes.reasons[0].reason == "the first one on PATH"


@needs_sh
@pytest.mark.parametrize(("version", "taken"), [("13.3.0", True), ("14.2.0", True), ("15", False)])
def test_the_newest_gcc_that_nvcc_accepts_is_taken(
    tmp_path: Path, version: str, taken: bool
) -> None:
    machine = linux(tmp_path)
    gcc(tmp_path, "c++", version)
    assert (tools.choose_gcc(machine.host, "12.8", Notes()) is not None) is taken


@needs_sh
def test_a_gcc_that_nvcc_refuses_names_one_that_it_takes(tmp_path: Path) -> None:
    machine = linux(tmp_path)
    gcc(tmp_path, "c++", "15.1.0")
    made = plan(Order(recipe=FLASH), machine)
    assert "nvcc of CUDA 12.8 accepts gcc up to 14" in refused(made)
    assert "CXX=g++-14" in refused(made)
    # without a toolkit nobody limits it
    assert tools.choose_gcc(machine.host, None, Notes()) is not None


@needs_sh
@pytest.mark.parametrize("by", ["name", "path"])
def test_cxx_names_another_compiler(tmp_path: Path, by: str) -> None:
    machine = linux(tmp_path)
    path = gcc(tmp_path, "g++-13", "13.3.0")
    named = having(machine, CXX=f" {path if by == 'path' else 'g++-13'} ")
    notes = Notes()
    found = tools.choose_gcc(named.host, "12.8", notes)
    assert found is not None
    assert (found.compiler, found.version) == (path, "13.3.0")
    assert notes.reasons[0].reason == "the variable CXX"


def test_no_compiler_at_all_is_a_refusal(tmp_path: Path) -> None:
    machine = having(linux(tmp_path), PATH=str(tmp_path / "nothing"))
    assert "no-c-compiler: there is no C++ compiler: c++" in refused(
        plan(Order(recipe=FLASH), machine)
    )
    gone = having(machine, CXX=str(tmp_path / "gone/g++"))
    found = tools.choose_gcc(gone.host, "12.8", Notes())
    assert found is None or found.version == ""


# --- target and place


def test_a_target_without_an_import_library_is_refused_on_windows_alone(tmp_path: Path) -> None:
    dev = machines.HEALTHY.python_dev
    assert dev is not None
    lacking = replace(dev, import_library=None)
    made = plan(Order(recipe=FLASH), windows(tmp_path, python_dev=lacking))
    assert "python-libs-not-found-venv-uv" in refused(made)
    assert plan(Order(recipe=FLASH), linux(tmp_path, python_dev=lacking)).possible


def test_no_python_is_no_target(tmp_path: Path) -> None:
    for target in (None, replace(machines.HEALTHY.target, version=None)):  # type: ignore[type-var]
        with pytest.raises(UserError, match="no Python to build for"):
            plan(Order(recipe=FLASH), windows(tmp_path, target=target))


def test_a_variable_that_nvcc_obeys_is_reported(tmp_path: Path) -> None:
    machine = having(windows(tmp_path), NVCC_PREPEND_FLAGS="-g")
    said = "NVCC_PREPEND_FLAGS is set, and nvcc obeys it"
    assert said in plan(Order(recipe=FLASH), machine).warnings
    assert said not in plan(Order(recipe=FLASH), windows(tmp_path)).warnings


def test_makefiles_cut_paths_with_blanks(tmp_path: Path) -> None:
    made = plan(Order(recipe=FLASH, root=tmp_path / "a b"), linux(tmp_path))
    assert "has a blank, which the build's makefiles cut in two" in refused(made)
    assert plan(Order(recipe=FLASH, root=Path("a b")), windows(tmp_path)).possible


@pytest.mark.parametrize("error", [True, False])
def test_a_disk_that_cannot_be_asked_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: bool
) -> None:
    def usage(_: Path) -> Any:
        raise OSError(5, "no answer")

    if error:
        monkeypatch.setattr(shutil, "disk_usage", usage)
    folder = tmp_path if error else Path("nowhere")  # relative, and its parents are taken away
    if not error:
        monkeypatch.setattr(order, "is_folder", lambda _: False)
    assert order._free(folder) is None
    assert plan(Order(recipe=FLASH), replace(windows(tmp_path), disk_free=None)).possible


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


def test_linux_tells_path_from_Path() -> None:
    assert merged({"Path": "a", "PATH": "b"}, {"PATH": "c"}, windows=False) == {
        "Path": "a",
        "PATH": "c",
    }


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


# --- memory


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked by a function")
@pytest.mark.parametrize(
    ("meminfo", "limit", "free"),
    [
        ("MemTotal: 9000 kB\nMemAvailable: 4000 kB\n", None, 4000 * 1024),
        ("MemTotal: 9000 kB\nMemAvailable: 4000 kB\n", "1000", 1000),
        ("nonsense", "1000", None),
        ("MemAvailable: many kB\n", None, None),
    ],
)
def test_free_memory_is_the_least_of_what_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    meminfo: str,
    limit: str | None,
    free: int | None,
) -> None:
    if limit:
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "memory.current").write_text("0")
    read = jobs._read
    monkeypatch.setattr(jobs, "_read", lambda f: meminfo if f == Path("/proc/meminfo") else read(f))
    monkeypatch.setattr(jobs, "_CGROUP", tmp_path)
    found = jobs.resources()
    assert (found.allocatable, found.physical) == (free, free)
    assert found.cores >= 1


# --- architectures, references, jobs of a fleet


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
    found = order.survey(Order(recipe=FLASH), machine.facts, machine.host, lambda: Broken(("pip",)))
    assert found.wheel is None


# --- toolkits: a build for torch 2.9 of CUDA 12.8

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
    (path / "version.json").write_text('{"cuda": {"version": "12.8.1"}}')
    return path


def versions(found: tuple[CudaToolkit, ...], asked: str | None, *, windows: bool) -> list[str]:
    each = toolkits.candidates(found, torch_cuda="12.8", asked=asked, windows=windows)
    return [f"{choice.version} {choice.origin}" for choice in each]


def test_a_folder_is_read_as_a_toolkit_of_that_system(tmp_path: Path, *, on_windows: bool) -> None:
    path = folder(tmp_path / "cuda", windows=on_windows)
    assert versions((), str(path), windows=on_windows) == ["12.8 system"]
    assert versions((), str(path), windows=not on_windows) == []
    refused = toolkits.none_fits((), "12.8", str(path), windows=not on_windows)
    assert refused.endswith(f"--cuda {path} names none; not taken: {path} (no cicc, no nvcc)")


def test_a_folder_that_is_known_is_taken_as_it_is_known(tmp_path: Path) -> None:
    known = toolkit("12.4", path=str(tmp_path))
    assert versions((toolkit("12.8"), known), str(tmp_path), windows=True) == ["12.4 system"]


@pytest.mark.parametrize(
    ("found", "asked", "said"),
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
def test_why_no_toolkit_fits(found: tuple[CudaToolkit, ...], asked: str | None, said: str) -> None:
    assert (
        toolkits.none_fits(found, "12.8", asked, windows=True)
        == f"the build needs a toolkit of CUDA 12, and {said}"
    )


def test_where_torch_wants_none_no_version_is_wrong() -> None:
    nameless = replace(toolkit("9.0"), version=None)
    said = toolkits.none_fits((toolkit("13.0"), nameless), None, windows=True)
    assert said == (
        "the build needs a CUDA toolkit, and there is none; "
        r"not taken: C:\CUDA\v9.0 (its version is not known)"
    )


def test_the_nearest_minor_version_comes_first() -> None:
    found = tuple(toolkit(v) for v in ("12.4", "12.10", "12.9", "12.6", "13.0", "12.8", "12"))
    assert versions(found, None, windows=True)[:6] == [
        f"{v} system" for v in ("12.8", "12.9", "12.6", "12.10", "12.4", "12")
    ]
    assert versions(found, "12.1", windows=True) == []


# --- tables


def test_what_no_table_knows() -> None:
    assert recipe.msvc_for("99.0") == ""
    assert recipe.newest_gcc("99.0") is None
    assert recipe.nvcc_archs("99.0") == ()
    assert recipe.cuda_for("14.0") == ""
    assert recipe.cpp_standard("no version") == "17"
    assert recipe.parts_of("99.0", windows=True) == ()


# --- memory


@pytest.mark.parametrize(
    ("bound_to", "count", "cores"), [({1, 5, 6}, 64, 3), (None, 64, 64), (None, None, 1)]
)
def test_cores_are_those_that_the_process_may_run_on(
    monkeypatch: pytest.MonkeyPatch, bound_to: set[int] | None, count: int | None, cores: int
) -> None:
    """Windows and macOS tell their number alone."""
    if bound_to is None:
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    else:
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: bound_to, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert compilers.resources().cores == cores


# A compiler takes 4 GiB, each further one half of that at the same time, and 2 GiB are always taken;
# 1.5 GiB are kept for the system.
MODEL = MemoryModel(compiler_gib=4, together=0.5, base_gib=2, source="a test")
PLENTY = 1000.0


@pytest.mark.parametrize(
    ("allocatable", "physical", "jobs"),
    [
        (7.4, PLENTY, 0),
        (7.5, PLENTY, 1),
        (11.4, PLENTY, 1),
        (11.5, PLENTY, 2),
        (PLENTY, 9.4, 1),
        (PLENTY, 9.5, 2),
        (PLENTY, 11.5, 3),
        # paging is not forbidden, where not even one would fit
        (PLENTY, 2.0, 1),
        (11.5, None, 2),
        (None, None, None),
    ],
)
def test_how_many_compilers_fit(
    allocatable: float | None, physical: float | None, jobs: int | None
) -> None:
    have = Resources(
        allocatable=None if allocatable is None else round(allocatable * GIB),
        physical=None if physical is None else round(physical * GIB),
        cores=64,
    )
    notes = Notes()
    found = compilers.choose(MODEL, have, notes, files=64, archs=1)
    assert found.jobs == (64 if jobs is None else max(jobs, 1))
    assert bool(notes.refusals) is (jobs == 0)


@pytest.mark.parametrize(
    ("cores", "files", "archs", "threads", "jobs"),
    [
        (4, 64, 8, 8, 1),  # more threads than cores
        (1, 64, 1, None, 1),
        (8, 64, 2, 2, 4),
        (8, 3, 1, None, 3),
        (8, None, 1, None, 8),
        (8, 64, 1, 4, 8),  # for one architecture a second thread has nothing to do
    ],
)
def test_jobs_and_their_threads_share_the_cores(
    cores: int, files: int | None, archs: int, threads: int | None, jobs: int
) -> None:
    have = Resources(allocatable=1000 * GIB, physical=1000 * GIB, cores=cores)
    found = compilers.choose(MODEL, have, Notes(), files=files, archs=archs, threads=threads)
    assert found.jobs == jobs


@pytest.mark.parametrize(
    ("files", "jobs", "archs", "free", "threads"),
    [
        (2, None, 8, PLENTY, 4),
        (64, None, 8, PLENTY, 1),
        (None, None, 8, PLENTY, 1),
        (2, 2, 8, PLENTY, 1),
        (64, 3, 8, PLENTY, 1),
        (2, None, 3, PLENTY, 3),  # more have nothing to do
        (2, None, 8, 15.5, 1),  # three compilers fit
    ],
)
def test_spare_cores_become_threads_where_nothing_was_asked(
    files: int | None, jobs: int | None, archs: int, free: float, threads: int
) -> None:
    have = machines.room(free, cores=8)
    found = compilers.choose(MODEL, have, Notes(), files=files, archs=archs, jobs=jobs)
    assert found.threads == threads


def test_threads_that_were_asked_for_count_as_compilers() -> None:
    """Four fit."""
    found = compilers.choose(MODEL, machines.room(19.5), Notes(), files=64, archs=2, threads=2)
    assert (found.jobs, found.threads) == (2, 2)


def test_what_the_kernel_says_is_read_whatever_its_bytes(tmp_path: Path) -> None:
    statistics = b"name \xff\xfe\ninactive_file 150\n"
    write(tmp_path, {"memory.max": "1000", "memory.current": "700", "memory.stat": statistics})
    assert compilers.container_free(tmp_path) == 450


# --- compilers


def test_a_whole_toolset_comes_before_a_newer_one_that_lacks_something(tmp_path: Path) -> None:
    both = (msvc("14.44.35207", missing=("omp.h",)), msvc("14.42.34433"))
    for found in (both, both[::-1]):
        made = plan(Order(recipe="flash-attn"), windows(tmp_path, msvc=found))
        assert made.toolset is not None
        assert made.toolset.version == "14.42.34433"
