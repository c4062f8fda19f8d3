"""FlashAttention's own setup.py, with real torch, ninja, linker and wheel; stand-in compilers.

Where the torch that pip finds was built without CUDA, it is made to pass for one with CUDA:
standin_torch.py.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import interrupting
import planned
import pytest
from world import PIP, World

from tritonwin.build import runner
from tritonwin.build import wheel as wheels
from tritonwin.build.recipe import load
from tritonwin.build.records import BuildPlan
from tritonwin.build.source import BuildContext
from tritonwin.build.wheel import tagged
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.files import paths_in

VERSION = "2.8.3.post2"
STEPS = 73

pytestmark = pytest.mark.full


@pytest.fixture(scope="session")
def sdist(torch_target: Path) -> Path:
    release = load("flash-attn").release(VERSION)
    assert release
    assert release.file
    assert release.sha256
    folder = torch_target.parent.parent.parent
    sdist = FileSource(name="flash-attn", location=release.file, sha256=release.sha256)
    return BuildContext(pip=lambda: PIP).obtain(sdist, folder)


@pytest.fixture
def target(torch_target: Path) -> Path:
    return torch_target


def plan_of(world: World, sdist: Path, jobs: int = 4) -> BuildPlan:
    """The plan that the planner makes, for two architectures and the stand-in compilers."""
    made = planned.plan(
        world.target, world.folder, {"CXX": str(world.folder / "c++")},
        recipe="flash-attn", version=VERSION, archs=("8.0", "9.0"), cuda=str(world.cuda),
        jobs=jobs, offline=True,
    )  # fmt: skip
    source = replace(made.source, location=str(sdist))
    return replace(planned.moved(made, world.folder / "root"), source=source)


@pytest.fixture(scope="session")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, torch_target: Path, sdist: Path
) -> dict[str, str]:
    """The content of the wheel when nothing goes wrong."""
    world = World(tmp_path_factory.mktemp("undisturbed"), torch_target)
    world.write()
    plan = plan_of(world, sdist)
    built = runner.build(plan, world.context())
    assert built.wheel, Path(built.log).read_text()[-4000:]
    assert world.compiled().total() == STEPS
    content = interrupting.content(Path(built.wheel))
    wheel = tagged(Path(built.wheel), plan.local_version)
    assert f"-{VERSION}+{plan.local_version}-" in wheel.name
    shown = wheels.prove(plan, wheel, PIP)
    assert shown.holds, shown
    assert shown.archs == ("8.0", "9.0")
    return content


# at the first file, while the first ones run, where backward, split and forward files meet, at the
# end, and the host's own; the stand-in fails at the k-th file that is compiled
@pytest.mark.parametrize("k", [1, 2, 24, 25, 48, 49, 60, 73])
def test_a_compiler_killed_for_memory_at_file_k(
    world: World, sdist: Path, undisturbed: dict[str, str], k: int
) -> None:
    world.fail = {f"#{k}": ("cicc", 1)}
    world.write()
    plan = plan_of(world, sdist)
    built = runner.build(plan, world.context())
    assert built.wheel
    assert [(r.jobs, r.ending) for r in built.runs] == [(4, "out-of-memory"), (2, "finished")]
    assert set(world.compiled().values()) == {1}
    assert world.compiled("start").total() == STEPS + 1
    assert interrupting.content(Path(built.wheel)) == undisturbed


def test_interrupted_thirty_times(world: World, sdist: Path, undisturbed: dict[str, str]) -> None:
    world.seconds = 1.0
    world.write()
    plan = plan_of(world, sdist, jobs=2)
    seed = int.from_bytes(os.urandom(2), "big")
    # the last 23 of 73 take two compilers at a time longer than what is waited for them
    seen = interrupting.interrupt(world, plan, times=30, until=50, longest=6, seed=seed)
    assert seen.survivors == [], seed
    assert seen.runs == 31, "the build ended before it was interrupted thirty times"
    assert interrupting.again(world) == [], seed
    (wheel,) = paths_in(plan.layout.dist, "*.whl")
    assert interrupting.content(wheel) == undisturbed
