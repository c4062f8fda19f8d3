"""No plan, on whatever machine, asks for what the tables forbid or the machine has not.

What is forbidden is said here again, independently of the planner: from the facts of
crt/host_config.h, the STL and the setup.py of the releases.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from healthy import gpu
from hypothesis import event, given, settings
from hypothesis import strategies as st
from machines import msvc, toolkit, torch, windows

from tritonwin.build.command import checked, environment, inherited
from tritonwin.build.jobs import Resources, choose
from tritonwin.build.order import BuildMachine, Order
from tritonwin.build.planner import plan
from tritonwin.build.recipe import load
from tritonwin.build.records import GIB, Notes
from tritonwin.errors import UserError
from tritonwin.system.host import Environment, merged

T = TypeVar("T")
CUDAS = ("11.8", "12.1", "12.3", "12.4", "12.6", "12.8", "12.9", "13.0", "13.1", "13.2", "13.4")
TOOLSETS = ("14.16.27023", "14.29.30133", "14.39.33519", "14.40.33807", "14.44.35207",
            "14.50.35717", "14.51.36014")  # fmt: skip
TORCHES = ("2.4.1", "2.8.0", "2.9.1", "2.12.0", "2.13.0", "2.14.1")
GPUS = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0", "12.1")
VERSIONS = tuple(release.version for release in load("flash-attn").releases)


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def msc(toolset: str) -> int:
    return 1900 + number(toolset)[1]


def nvcc_accepts(cuda: str, toolset: str) -> bool:
    """crt/host_config.h of the Windows wheels."""
    low = 1910 if number(cuda) < (13, 0) else 1920
    high = 1939 if number(cuda) < (12, 4) else 1949 if number(cuda) < (13, 2) else 1959
    return low <= msc(toolset) <= high


def stl_accepts(cuda: str, toolset: str) -> bool:
    """yvals_core.h: STL1002."""
    if msc(toolset) >= 1950:
        return number(cuda) >= (13, 2)
    return msc(toolset) < 1940 or number(cuda) >= (12, 4)


def known_words(version: str, cuda: str) -> set[str]:
    """The words that the setup.py of flash-attn compares with; it ignores every other one."""
    if number(version + ".0") < (2, 7) or version.startswith(("2.7.0", "2.7.1", "2.7.2")):
        return set()
    words = {"80"} | ({"90"} if number(cuda) >= (11, 8) else set())
    return words | ({"100", "120"} if number(cuda) >= (12, 8) else set())


gib = st.floats(min_value=0, max_value=2000, allow_nan=False)
resources = st.builds(
    lambda free, share, cores: Resources(
        allocatable=int(free * GIB), physical=int(free * share * GIB), cores=cores
    ),
    gib,
    st.floats(min_value=0, max_value=1),
    st.integers(min_value=1, max_value=256),
)


@given(
    have=resources,
    files=st.one_of(st.none(), st.integers(min_value=1, max_value=200)),
    recipe=st.sampled_from(["flash-attn", "sageattention", "triton", "cuda-extension"]),
)
def test_never_more_memory_than_there_is(have: Resources, files: int | None, recipe: str) -> None:
    notes = Notes()
    chosen, memory = choose(load(recipe).memory, have, notes, files=files)
    assert 1 <= chosen <= max(1, min(have.cores, files or have.cores))
    assert have.allocatable is not None
    assert have.physical is not None
    assert memory.expected <= memory.bound
    if not notes.refusals:
        assert memory.bound <= have.allocatable
        assert chosen == 1 or memory.expected <= have.physical


def mostly(usual: st.SearchStrategy[T], *rest: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """Seven in eight are usual: with everything at random hardly any plan would be possible."""
    return st.integers(0, 7).flatmap(lambda n: usual if n else st.one_of(*rest))


@st.composite
def orders(draw: st.DrawFn) -> tuple[Order, BuildMachine]:
    cuda = draw(st.sampled_from(CUDAS))
    kits = draw(st.lists(st.sampled_from(CUDAS), max_size=4, unique=True))
    served = st.sampled_from(("8.0", "8.6", "8.9", "9.0"))
    cards = draw(st.lists(mostly(served, st.sampled_from(GPUS)), min_size=1, max_size=2))
    machine = windows(
        Path(os.path.abspath(os.sep)),
        torch=torch(draw(st.sampled_from(TORCHES)), cuda),
        cuda_toolkits=tuple(
            toolkit(k) for k in (*kits, *draw(mostly(st.just((cuda,)), st.just(()))))
        ),
        gpus=tuple(gpu(card) for card in cards),
        msvc=tuple(
            msvc(tool)
            for tool in draw(st.lists(st.sampled_from(TOOLSETS), min_size=2, unique=True))
        ),
    )
    none = st.none()
    order = Order(
        recipe="flash-attn",
        version=draw(st.sampled_from(VERSIONS)),
        archs=tuple(
            draw(mostly(st.just([]), st.lists(st.sampled_from(GPUS), unique=True, max_size=2)))
        ),
        cuda=draw(mostly(none, st.just("assembled"), st.sampled_from(CUDAS))),
        msvc=draw(mostly(none, st.sampled_from(TOOLSETS))),
    )
    room = draw(mostly(st.floats(min_value=10, max_value=2000), gib))
    have = draw(resources)
    roomy = replace(have, allocatable=int(room * GIB), physical=int(room * GIB))
    return order, replace(machine, resources=roomy)


@settings(max_examples=150, deadline=None)
@given(orders())
def test_no_plan_that_is_possible_is_one_that_fails(asked: tuple[Order, BuildMachine]) -> None:
    order, machine = asked
    made = plan(order, machine)
    event("possible" if made.possible else "refused")
    if not made.possible:
        assert all(refusal.message for refusal in made.refusals)
        return
    cuda, tool = made.cuda.version, made.toolset.version
    assert machine.facts.torch.cuda is not None
    assert number(cuda)[0] == number(machine.facts.torch.cuda)[0]
    assert nvcc_accepts(cuda, tool)
    assert stl_accepts(cuda, tool)
    assert msc(tool) >= 1920
    words = known_words(made.version, cuda)
    given_words = made.environment.get("FLASH_ATTN_CUDA_ARCHS", "")
    assert set(filter(None, given_words.split(";"))) <= words
    assert given_words or not words
    assert made.archs
    wanted = order.archs or tuple(card.compute_capability for card in machine.facts.gpus)
    for capability in wanted:
        assert capability is not None
        compiled = [a for a in made.archs if number(a)[0] == number(capability)[0]]
        assert any(number(a) <= number(capability) for a in compiled)
    assert machine.resources.allocatable is not None
    assert made.memory.bound <= machine.resources.allocatable
    assert checked(made.environment) == made.environment
    assert made.environment["DISTUTILS_USE_SDK"] == "1"
    new_headers = number(machine.facts.torch.version) >= (2, 13)
    assert made.cpp_standard == ("20" if new_headers else "17")
    assert ("-std=c++20" in made.environment.get("NVCC_APPEND_FLAGS", "")) == new_headers


text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(value=text, before=st.sampled_from(["", " ", "\t", '"']), after=st.sampled_from([" ", "\n"]))
def test_no_stray_blank_is_let_through(value: str, before: str, after: str) -> None:
    with pytest.raises(UserError):
        checked({"MAX_JOBS": before + value + after})


@given(before=st.dictionaries(names, text, max_size=6))
def test_nothing_inherited_keeps_its_blanks(before: dict[str, str]) -> None:
    machine = windows(Path(os.path.abspath(os.sep)))
    made = replace(plan(Order(recipe="flash-attn"), machine), toolset=None)
    env = Environment(before, windows=True)
    host = replace(machine.host, env=env)
    found = environment(made, host, inherited(made, host))
    assert all(v == v.strip() for n, v in found.items() if n != "NINJA_STATUS")
    upper = [name.upper() for name in found]
    assert len(upper) == len(set(upper)) or len({n.upper() for n in before}) < len(before)
    assert {n: found[n] for n in made.environment} == made.environment


@given(data=st.dictionaries(names, text), new=st.dictionaries(names, text))
def test_windows_does_not_tell_path_from_Path(data: dict[str, str], new: dict[str, str]) -> None:
    found = merged(data, new, windows=True)
    replaced = {name.upper() for name in new}
    assert not {n for n in found if n.upper() in replaced} - new.keys()
    assert {n: found[n] for n in new} == new
