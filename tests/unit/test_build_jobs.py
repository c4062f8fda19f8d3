"""Compilers at once: from free memory, cores and files; and what this machine has of them."""

from __future__ import annotations

import os
from pathlib import Path

import machines
import pytest
from cases import cases
from trees import write

from tritonwin.build import jobs as compilers
from tritonwin.build.jobs import Resources, container_free, resources
from tritonwin.build.recipe import MemoryModel, load
from tritonwin.build.records import GIB, Notes
from tritonwin.system import winapi


@pytest.mark.parametrize(("files", "free"), cases("build_runs.toml", "containers"))
def test_the_limit_of_a_container(tmp_path: Path, files: dict[str, str], free: int) -> None:
    write(tmp_path, files)
    assert (container_free(tmp_path) or 0) == free


def test_the_memory_of_this_machine_is_asked_of_the_system() -> None:
    here = resources()
    assert here.cores >= 1
    assert here.allocatable is not None
    assert here.physical is not None
    assert 0 < here.physical <= here.allocatable < 2**50


@pytest.mark.skipif(os.name == "nt", reason="Windows is asked by a function")
@pytest.mark.parametrize(("meminfo", "limit", "free"), cases("build_runs.toml", "memory"))
def test_free_memory_is_the_least_of_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meminfo: str, limit: str, free: int
) -> None:
    if limit:
        write(tmp_path, {"memory.max": limit, "memory.current": "0"})
    read = compilers._read
    monkeypatch.setattr(
        compilers, "_read", lambda f: meminfo if f == Path("/proc/meminfo") else read(f)
    )
    monkeypatch.setattr(compilers, "_CGROUP", tmp_path)
    found = resources()
    assert (found.allocatable or 0, found.physical or 0) == (free, free)
    assert found.cores >= 1


@pytest.mark.parametrize(("free", "commit", "physical"), [(5, 3, 3), (3, 5, 3)])
def test_windows_may_allocate_up_to_its_commit_limit(
    monkeypatch: pytest.MonkeyPatch, free: int, commit: int, physical: int
) -> None:
    asked = winapi.Memory(total=9, free=free, free_commit=commit)
    monkeypatch.setattr(winapi, "memory", lambda: asked)
    found = resources()
    assert (found.allocatable, found.physical) == (commit, physical)


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


@pytest.mark.parametrize(("allocatable", "physical", "jobs"), cases("build_runs.toml", "fitting"))
def test_how_many_compilers_fit(allocatable: float, physical: float, jobs: int) -> None:
    have = Resources(
        allocatable=round(allocatable * GIB) or None,
        physical=round(physical * GIB) or None,
        cores=64,
    )
    notes = Notes()
    chosen, _ = compilers.choose(MODEL, have, notes, files=64)
    assert chosen == max(jobs, 1)
    assert bool(notes.refusals) is (jobs == 0)


def test_the_expected_peak_is_the_one_that_was_measured() -> None:
    """16 jobs, sm_90, nvcc 13.0: what was seen on three occasions."""
    chosen, memory = compilers.choose(
        load("flash-attn").memory, machines.room(118), Notes(), files=73
    )
    assert chosen == 16
    for seen in (63, 70.4, 72.3):
        assert memory.expected == pytest.approx(seen * GIB, rel=0.15)
        assert memory.bound >= seen * GIB
