"""The parts that a plan of a build is made of, each at its borders."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from machines import linux, msvc, toolkit, windows
from trees import plant, write

from tritonwin.build import jobs as compilers
from tritonwin.build import recipe
from tritonwin.build import toolkit as toolkits
from tritonwin.build.jobs import Resources
from tritonwin.build.order import Order
from tritonwin.build.plan import GIB
from tritonwin.build.planner import plan
from tritonwin.build.recipe import MemoryModel
from tritonwin.facts.records import CudaToolkit

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
    refused = toolkits.refusal((), "12.8", str(path), windows=not on_windows).message
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
    refused = toolkits.refusal(found, "12.8", asked, windows=True)
    assert refused.message == f"the build needs a toolkit of CUDA 12, and {said}"


def test_where_torch_wants_none_no_version_is_wrong() -> None:
    nameless = replace(toolkit("9.0"), version=None)
    said = toolkits.refusal((toolkit("13.0"), nameless), None, windows=True)
    assert said.message == (
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
    found = compilers.choose(MODEL, have, files=64, archs=1)
    assert found.value.jobs == (64 if jobs is None else max(jobs, 1))
    assert bool(found.refusals) is (jobs == 0)


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
    assert (
        compilers.choose(MODEL, have, files=files, archs=archs, threads=threads).value.jobs == jobs
    )


@pytest.mark.parametrize(
    ("files", "jobs", "threads"),
    [(2, None, 4), (64, None, 1), (None, None, 1), (2, 2, 1), (64, 3, 1)],
)
def test_spare_cores_become_threads_where_nothing_was_asked(
    files: int | None, jobs: int | None, threads: int
) -> None:
    have = Resources(allocatable=1000 * GIB, physical=1000 * GIB, cores=8)
    assert compilers.choose(MODEL, have, files=files, archs=8, jobs=jobs).value.threads == threads


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


# --- what is handed on


def test_builds_in_two_places_have_two_servers_of_sccache(tmp_path: Path) -> None:
    there = replace(toolkit("12.8"), path=str(tmp_path / "cuda"))
    machine = linux(tmp_path, cuda_toolkits=(there,))
    program = tmp_path / "bin" / "sccache"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    orders = (Order(recipe="flash-attn", root=Path("/", name)) for name in ("one", "two"))
    ports = {plan(order, machine).environment["SCCACHE_SERVER_PORT"] for order in orders}
    assert len(ports) == 2
