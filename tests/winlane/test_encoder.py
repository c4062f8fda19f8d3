"""The encoder's kernels, compiled by the real Triton for Windows for every architecture."""

from __future__ import annotations

import json

import pytest
from faults import FORK
from winlane import Environment, Machine
from winlane.lane import CHECKOUT

PROGRAM = CHECKOUT / "encoder" / "tests" / "windows" / "compile_kernels.py"
BARRIERS = {"hopper": 0, "hopper_gradient": 2, "hopper_linear": 0}  # of a loop of products on sm_90
# bytes of shared memory that one program may use (CUDA programming guide, compute capabilities)
SHARED = {75: 65_536, 80: 166_912, 86: 101_376, 89: 101_376, 90: 232_448, 100: 232_448,
          120: 101_376}  # fmt: skip


def compiled(made: Environment, machine: Machine, *words: str) -> set[tuple[int, str]]:
    """The compiled kernels; they fit the architecture and use its tensor cores where it has them."""
    source = {"PYTHONPATH": machine.lane.drives.windows(CHECKOUT / "encoder" / "src")}
    done = made.run(str(PROGRAM), *words, env=source, timeout=500).check()
    said = [json.loads(line) for line in done.stdout.splitlines()]
    for kernel in said:
        assert kernel["elf"], kernel
        assert kernel["shared"] <= SHARED[kernel["arch"]], kernel
        assert (kernel["products"] > 0) == (kernel["arch"] >= 80), kernel
        if kernel["kind"] in BARRIERS:
            assert kernel["barriers"] == BARRIERS[kernel["kind"]], kernel
    return {(kernel["arch"], kernel["kind"]) for kernel in said}


@pytest.fixture
def triton(machine: Machine) -> Environment:
    return machine.environment("3.12", "full", [FORK])


def test_without_tensor_cores_on_sm_90_and_on_the_newest(
    triton: Environment, machine: Machine
) -> None:
    found = compiled(triton, machine, "75", "90", "120", "dot", "hopper")
    assert found == {(75, "dot"), (90, "dot"), (90, "hopper"), (120, "dot")}


@pytest.mark.full
@pytest.mark.parametrize("arch", SHARED)
def test_every_kernel(triton: Environment, machine: Machine, arch: int) -> None:
    found = compiled(triton, machine, str(arch))
    kinds = {"dot", "linear"}
    if arch >= 80:
        kinds.add("walk")
    if arch == 90:
        kinds |= {"hopper", "hopper_gradient", "hopper_linear"}
    assert found == {(arch, kind) for kind in kinds}
