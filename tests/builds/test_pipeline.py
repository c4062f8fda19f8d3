"""The whole way of a small build: real pip, ninja, linker and wheel, stand-ins for the compilers."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import interrupting
import pytest
from stub_compiler import FAILURES
from trees import write
from world import HERE, PIP, World

from tritonwin.build import runner
from tritonwin.build import wheel as wheels
from tritonwin.build.records import BuildInfo, BuildOutcome, BuildPlan, BuildSource, Progress
from tritonwin.build.runner import make
from tritonwin.errors import UserError
from tritonwin.journal.store import TargetBusyError, locked
from tritonwin.journal.tree import file_hash
from tritonwin.system.codec import from_json, parse
from tritonwin.system.files import paths_in

SOURCES = {"api.cpp", *(f"kernel_{n:02}.cu" for n in range(6))}


def build(world: World, plan: BuildPlan | None = None, *, resume: bool = False) -> BuildOutcome:
    world.write()
    return runner.build(plan or world.plan(), world.context(), resume=resume)


def endings(built: BuildOutcome) -> list[tuple[int, str]]:
    return [(run.jobs, run.ending) for run in built.runs]


def test_a_wheel_that_is_proven_and_described(world: World, target: Path) -> None:
    before = sorted(str(p) for p in target.parent.parent.rglob("*") if "__pycache__" not in str(p))
    midway = world.folder / "midway"
    world.wait = {"kernel_05.cu": str(midway)}
    world.write()

    def follow(event: object) -> None:
        world.said.append(event)
        if isinstance(event, Progress) and event.done:
            midway.touch()

    context = replace(world.context(), on_event=follow)
    outcome = make(world.plan(local_version="cu130"), context)
    assert outcome.wheel is not None, Path(outcome.log).read_text()
    assert Path(outcome.wheel).name.startswith("tiny_kernels-1.0+cu130-cp")
    assert outcome.proof.archs == ("8.0", "9.0")
    assert {step.name: step.state for step in outcome.proof.steps} == {
        "import tiny_kernels_cuda": "passed",
        "architectures": "passed",
        "chooser": "passed",
    }
    assert outcome.proven
    assert world.compiled() == dict.fromkeys(SOURCES, 1)
    # everything that was said is in the log, and the steps were followed
    assert "[7/7] " in Path(outcome.log).read_text()
    progress = [event for event in world.said if isinstance(event, Progress)]
    assert [p for p in progress if p.total == 7 and 0 < p.done < 7 and p.remaining]
    # the record says from what, and can be read again
    assert outcome.info is not None
    record = from_json(BuildInfo, parse(Path(outcome.info).read_text()))
    assert record.sha256 == file_hash(Path(outcome.wheel))
    assert record.versions["ninja"]
    assert record.runs[-1].peak_memory
    after = sorted(str(p) for p in target.parent.parent.rglob("*") if "__pycache__" not in str(p))
    assert after == before  # nothing reached the target


@pytest.mark.parametrize(
    "failure",
    ["cicc", "killed", *(pytest.param(f, marks=pytest.mark.full) for f in ("ptxas", "cc1plus"))],
)
def test_out_of_memory_goes_on_with_fewer_jobs(world: World, failure: str) -> None:
    number = sorted(FAILURES).index(failure)
    source = "api.cpp" if failure == "cc1plus" else f"kernel_{number:02}.cu"
    world.fail = {source: (failure, 1)}
    built = build(world)
    assert built.wheel, endings(built)
    assert endings(built) == [(4, "out-of-memory"), (2, "finished")]
    assert world.compiled() == dict.fromkeys(SOURCES, 1)
    assert world.compiled("start") == {**dict.fromkeys(SOURCES, 1), source: 2}
    assert any("out of memory with 4 jobs: going on with 2" in str(said) for said in world.said)


def test_memory_that_never_suffices_ends_with_the_reason(world: World) -> None:
    world.fail = {"kernel_01.cu": ("cicc", 99)}
    built = build(world)
    assert built.wheel is None
    assert [jobs for jobs, _ in endings(built)][:3] == [4, 2, 1]
    assert {ending for _, ending in endings(built)} == {"out-of-memory"}
    assert len(built.runs) <= 4
    assert "build-resource-limits" in {p.id for p in built.problems}


def test_a_fault_of_the_source_is_not_tried_again(world: World) -> None:
    world.fail = {"kernel_02.cu": ("syntax", 1)}
    built = build(world)
    assert endings(built) == [(4, "failed")]
    assert 'error: identifier "flash" is undefined' in Path(built.log).read_text()
    done = set(world.compiled())
    assert build(world, resume=True).wheel
    assert world.compiled() == dict.fromkeys(SOURCES, 1)
    assert "kernel_02.cu" not in done


def test_hours_of_work_are_not_thrown_away(world: World) -> None:
    world.fail = {"kernel_05.cu": ("syntax", 99)}
    assert build(world).wheel is None
    with pytest.raises(UserError, match="unfinished build") as error:
        build(world)
    assert "--resume" in error.value.help
    assert len(world.compiled()) > 1


@pytest.mark.parametrize(
    "left", [bytes(64), *(pytest.param(d, marks=pytest.mark.full) for d in (b"", None))]
)
def test_an_object_that_the_disk_lost_is_made_again(world: World, left: bytes | None) -> None:
    plan = world.plan()
    world.fail = {"kernel_05.cu": ("syntax", 1)}
    assert build(world, plan).wheel is None
    path = next(p for p in runner.finished(plan.layout.source) if p.name == "kernel_00.o")
    times = path.stat()
    if left is None:
        path.unlink()
    else:
        path.write_bytes(left)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a lost block leaves it
    assert build(world, plan, resume=True).wheel
    assert world.compiled() == {**dict.fromkeys(SOURCES, 1), "kernel_00.cu": 2}


def test_of_a_changed_source_the_changed_files_alone_are_compiled(
    world: World, tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    write(place, {"setup.py": (HERE / "project/setup.py").read_bytes()})
    write(place / "csrc", dict.fromkeys(SOURCES, "// PYBIND11_MODULE\n"))
    plan = world.plan(source=BuildSource(kind="folder", location=str(place)))
    world.fail = {"kernel_05.cu": ("syntax", 1)}
    world.extra = {}
    assert build(world, plan).wheel is None
    (place / "csrc/kernel_01.cu").write_text("// a better kernel\n")
    assert build(world, plan, resume=True).wheel
    assert world.compiled() == {**dict.fromkeys(SOURCES, 1), "kernel_01.cu": 2}


def test_one_build_at_a_time_in_a_folder(world: World) -> None:
    plan = world.plan()
    with locked(plan.layout.root / "lock", "another", wait=0), pytest.raises(TargetBusyError):
        build(world, plan)


def test_a_wheel_without_the_planned_architecture_is_not_proven(world: World) -> None:
    plan = world.plan(archs=("8.0", "9.0", "12.0"))
    built = build(world, plan)
    assert built.wheel
    shown = wheels.prove(plan, Path(built.wheel), PIP)
    assert not shown.holds
    assert {s.name for s in shown.steps if s.state == "failed"} >= {"architectures"}


def test_interrupted_at_random_and_resumed(world: World, tmp_path: Path) -> None:
    world.seconds = 0.2
    world.write()
    many = {**world.plan().environment, "KERNELS": "36", "MAX_JOBS": "2"}
    plan = replace(world.plan(), environment=many, jobs=2)
    seed = int.from_bytes(os.urandom(2), "big")
    # the last 12 of 36 take two compilers at a time longer than what is waited for them
    seen = interrupting.interrupt(world, plan, times=5, until=24, longest=1.0, seed=seed)
    assert seen.survivors == [], seed
    assert seen.runs >= 3, "the build ended before it was interrupted twice"
    assert interrupting.again(world) == [], seed
    (wheel,) = paths_in(plan.layout.dist, "*.whl")

    undisturbed = World(tmp_path / "undisturbed", world.target)
    undisturbed.folder.mkdir()
    undisturbed.write()
    environment = {**undisturbed.plan().environment, "KERNELS": "36"}
    whole = build(undisturbed, replace(undisturbed.plan(), environment=environment)).wheel
    assert whole
    assert interrupting.content(wheel) == interrupting.content(Path(whole))
    assert json.loads((plan.layout.root / "state.json").read_text())
