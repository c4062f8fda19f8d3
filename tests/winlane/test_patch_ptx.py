"""Patched upstream sources generate what the fork of the same version generates."""

from __future__ import annotations

import shutil

import overlay
import pytest
from overlay import Version
from test_patch import each
from winlane import Environment, Machine

from tritonwin.patch.rules import RULES

FOLDER = r"C:\ptx"
# The fork lets fp8e4nv through where the GPU has none and converts it in its compiled library; to
# upstream's sources it stays an error there, on Windows as on Linux, and no rule changes that.
# From the first version on whose fork does so.
FP8_EVERYWHERE = (3, 2)


def ptx(machine: Machine, made: Environment, version: Version) -> dict[str, str]:
    """The PTX of every kernel for every architecture, by a name for both."""
    stages = ["cubin:80", "cubin:86", "cubin:89", "cubin:90"]
    if version.number >= (3, 3):
        stages.append("cubin:120")
    folder = machine.drives.linux(FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    machine.place(FOLDER, None)
    # a cache of its own: what was compiled before would be found there
    said = overlay.run(made, *stages, PTX_FOLDER=FOLDER, TRITON_CACHE_DIR=rf"{FOLDER}\cache")
    assert {stage: each.get("error") for stage, each in said.items()} == dict.fromkeys(stages)
    return {path.name: path.read_text() for path in folder.glob("*.ptx")}


@pytest.mark.full
@each()
def test_same_ptx_as_the_fork(machine: Machine, version: Version) -> None:
    """Text for text, with the paths and lines of the debug information in it."""
    made = overlay.fork(machine, version)
    of_the_fork = ptx(machine, made, version)
    fp8 = overlay.run(made, "fp8")["fp8"]
    assert ("ok" in fp8) == (version.number >= FP8_EVERYWHERE), fp8

    overlay.lay_over(machine, made, version)
    overlay.edit(made, RULES)
    of_the_patched = ptx(machine, made, version)
    assert len(of_the_fork) >= 14
    assert of_the_patched == of_the_fork
    assert "fp8e4nv" in overlay.run(made, "fp8")["fp8"]["trace"]
