"""A Triton for Windows whose sources are upstream's: what `tritonwin patch` is for.

Upstream builds no Windows binaries, so the compiled library, ptxas, TinyCC and the import library
of CUDA are the fork's of the same version, and every source and the distribution are upstream's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winlane import Environment, Lane, Machine, standins, upstream

from tritonwin.patch.engine import Flavour, Rule, transform

PROGRAMS = Path(__file__).parent / "programs"
LOG = r"C:\Users\Public\launches.jsonl"


@dataclass(frozen=True)
class Version:
    """Upstream's version, the fork's wheel, and the torch that Triton up to 3.7 asks."""

    upstream: str
    fork: str
    torch: str | None

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(map(int, self.upstream.split(".")))


VERSIONS = {
    version.upstream: version
    for version in (
        Version("3.1.0", "3.1.0.post17", "2.5.0"),
        Version("3.2.0", "3.2.0.post21", "2.6.0"),
        Version("3.3.0", "3.3.0.post19", "2.7.0"),
        Version("3.3.1", "3.3.1.post21", "2.7.1"),
        Version("3.4.0", "3.4.0.post21", "2.8.0"),
        Version("3.5.0", "3.5.0.post21", "2.9.0"),
        Version("3.5.1", "3.5.1.post24", "2.9.1"),
        Version("3.6.0", "3.6.0.post26", "2.10.0"),
        Version("3.7.0", "3.7.0.post26", "2.12.0"),
        Version("3.7.1", "3.7.1.post27", "2.12.1"),
        Version("3.8.0", "3.8.0.post29", None),
    )
}
PYTHON = "3.12"


def fork(
    machine: Machine,
    version: Version,
    cc: str = "8.6",
    more: Sequence[str] = ("setuptools",),
    kind: str = "full",
    python: str = PYTHON,
) -> Environment:
    """The fork as it is published. `more`: what Triton takes for granted, up to 3.2."""
    machine.gpu(cc=cc)
    machine.variables["FAKECUDA_LOG"] = LOG
    made = machine.environment(python, kind, [f"triton-windows=={version.fork}", *more])
    if version.torch:
        standins.cuda_torch(made, machine.fakes, version.torch, "12.8")
    return made


def overlay(
    machine: Machine,
    version: Version,
    cc: str = "8.6",
    more: Sequence[str] = ("setuptools",),
    kind: str = "full",
) -> Environment:
    """Upstream's sources and distribution on the fork's binaries, not patched."""
    made = fork(machine, version, cc, more, kind)
    lay_over(machine, made, version)
    return made


def lay_over(machine: Machine, made: Environment, version: Version) -> None:
    """Take the fork's sources out of an environment and put upstream's in."""
    upstream.lay_over(upstream_site(machine.lane, version.upstream), made.site_packages)


def upstream_site(lane: Lane, version: str) -> Path:
    """Upstream's sources as site-packages: read it, never write it."""
    return upstream.Upstream(lane.cache).sources(version)


def edit(made: Environment, rules: Iterable[Rule]) -> tuple[str, ...]:
    """Apply rules to the files, without the product's journal; the rules that had something to do."""
    package = made.site_packages / "triton"
    flavour: Flavour = "fork" if (package / "windows_utils.py").exists() else "upstream"
    chosen = tuple(rules)
    applied: list[str] = []
    for file in dict.fromkeys(rule.file for rule in chosen):
        path = package / file
        if path.exists():
            outcome = transform(file, path.read_text("utf-8"), chosen, flavour)
            applied += outcome.applied
            made.replace(path, outcome.text.encode())
    return tuple(applied)


def run(made: Environment, *stages: str, timeout: float = 240, **env: str) -> dict[str, Any]:
    """The result or error of each stage of programs/stages.py."""
    done = made.run(str(PROGRAMS / "stages.py"), *stages, timeout=timeout, env=env)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"stage"')]
    said = {line.pop("stage"): line for line in lines}
    for stage in stages:
        said.setdefault(stage, {"error": f"ended with {done.returncode:#x}", "trace": ""})
        # what compilers and cmd.exe print
        said[stage]["printed"] = done.stdout + done.stderr
    return said


def launches(made: Environment) -> list[dict[str, Any]]:
    log = made.path(LOG)
    lines = log.read_text().splitlines() if log.exists() else []
    events = [json.loads(line) for line in lines]
    return [event for event in events if event["event"] == "launch"]
