"""What the user asked for, and the machine that it is asked of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tritonwin.build.checkout import Checkout
from tritonwin.build.memory import Resources
from tritonwin.facts.records import Facts
from tritonwin.support.wheel_choice import WheelChoice
from tritonwin.system.host import Host


@dataclass(frozen=True, kw_only=True)
class Order:
    """The options of `tritonwin build`; None or empty: the plan decides.

    Attributes:
        source: a folder, an archive (.tar.gz, .zip), or the address of a repository.
        ref: of the repository: a commit, a tag, a branch.
        archs: compute capabilities, as `archs.parse` gives them.
        cuda: a folder, a version, or "assembled".
        root: the folder in which build folders are made.
        nvcc_flags: put behind those of the recipe.
        compiler_cache: use ccache or sccache where one is there.
        anyway: build although a wheel that fits exists.
        llvm, json, pybind11: folders for a Triton from source.
    """

    recipe: str
    version: str | None = None
    source: str | None = None
    ref: str | None = None
    archs: tuple[str, ...] = ()
    cuda: str | None = None
    msvc: str | None = None
    cpp: str | None = None
    jobs: int | None = None
    nvcc_threads: int | None = None
    gib_per_job: float | None = None
    root: Path | None = None
    local_version: str | None = None
    nvcc_flags: tuple[str, ...] = ()
    anyway: bool = False
    compiler_cache: bool = True
    offline: bool = False
    llvm: Path | None = None
    json: Path | None = None
    pybind11: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What the plan is made from; nothing else is asked of the machine.

    Attributes:
        disk_free: bytes on the disk of the build root.
        wheel: the chooser's answer for the package; None: it was not asked.
        checkout: of `Order.source`, where that is a folder.
    """

    facts: Facts
    host: Host
    resources: Resources
    disk_free: int | None = None
    wheel: WheelChoice | None = None
    checkout: Checkout | None = None
