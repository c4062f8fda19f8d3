"""Records of a build that runs or has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tritonwin.build.model import BuildPlan


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a build is.

    Attributes:
        done: finished compile and link steps, those of earlier runs included.
        total: of all; None until the builder has said it.
        seconds: since this run started.
        rate: steps a second in this run; None until one is done.
        remaining: seconds, by the rate so far; None until there is one.
        memory: of the process tree now, in bytes.
        heaviest: the process that holds most of it: "cicc flash_bwd_hdim256_bf16_sm80.cu".
    """

    done: int
    total: int | None
    jobs: int
    seconds: float
    rate: float | None = None
    remaining: float | None = None
    memory: int | None = None
    heaviest: str = ""


@dataclass(frozen=True, kw_only=True)
class BuildInfo:
    """What a wheel was made from, stored beside it as `<wheel>.build-info.json`.

    Attributes:
        inputs: file -> sha256, or address of a repository -> commit.
        versions: program or distribution -> version.
        jobs: number of jobs of every run, the first first.
        peak_memory: of the process tree, in bytes.
        archs: read from the binaries inside the wheel.
        proof: rung or step -> how it ended.
    """

    schema: Literal["tritonwin.build-info/1"] = "tritonwin.build-info/1"
    wheel: str
    sha256: str
    size: int
    plan: BuildPlan
    inputs: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    jobs: tuple[int, ...] = ()
    wall_seconds: float = 0.0
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    archs: tuple[str, ...] = ()
    proof: dict[str, str] = field(default_factory=dict)
