"""What a log says about the machine, each value with the line that it came from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tritonwin.facts.model import (
    Distribution,
    Driver,
    Facts,
    Gpu,
    Interpreter,
    MsvcToolset,
    PythonKind,
    System,
    Torch,
    Triton,
)
from tritonwin.problems.model import LinePattern
from tritonwin.system.toml import shipped

MAX_VALUES = 32  # changes of one fact that are remembered
PATIENCE = 300  # lines that a fact's pattern may see: versions stand in banners and first errors
SOURCE = "the log"
PORTABLE = r"python_embeded\python.exe"  # as ComfyUI's portable package is told to start it


@dataclass(frozen=True)
class Seen:
    value: str
    line: int
    text: str


class LogFacts:
    """Values by name, in the order of the log; a value that repeats is kept once."""

    def __init__(self) -> None:
        self._seen: dict[str, list[Seen]] = {}

    def add(self, name: str, value: str, line: int, text: str) -> None:
        values = self._seen.setdefault(name, [])
        if len(values) < MAX_VALUES and (not values or values[-1].value != value):
            values.append(Seen(value, line, text))

    def at(self, name: str, line: int) -> Seen | None:
        """The value in force at a line: the last one before it, else the first after it."""
        values = self._seen.get(name, [])
        earlier = [seen for seen in values if seen.line <= line]
        return earlier[-1] if earlier else values[0] if values else None

    def values(self) -> Mapping[str, Sequence[Seen]]:
        return self._seen


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The content of `facts.toml`: GPUs with their capability, places with the kind of a Python."""

    patterns: tuple[LinePattern, ...]
    gpus: tuple[tuple[re.Pattern[str], str], ...]
    places: tuple[tuple[re.Pattern[str], PythonKind], ...]


@cache
def knowledge() -> Knowledge:
    """The shipped knowledge about what logs say."""
    data = shipped("tritonwin.problems.explain", "facts.toml")
    return Knowledge(
        patterns=tuple(
            LinePattern(
                anchors=tuple(a if isinstance(a := row["anchor"], list) else [a]), line=row["line"]
            )
            for row in data["fact"]
        ),
        gpus=tuple((re.compile(row["name"]), row["capability"]) for row in data["gpu"]),
        places=tuple(
            (re.compile(row["place"], re.IGNORECASE), row["kind"]) for row in data["python"]
        ),
    )


def capability(gpu_name: str) -> str | None:
    """The compute capability of an NVIDIA GPU of that name."""
    return next((c for name, c in knowledge().gpus if name.search(gpu_name)), None)


def kind_of(place: str) -> PythonKind:
    """The kind of a Python from the folder or the path of its python.exe."""
    folder = re.sub(r"\\python\.exe$", "", place, flags=re.IGNORECASE)
    return next((kind for mark, kind in knowledge().places if mark.search(folder)), "unknown")


def facts_at(log: LogFacts, line: int, snapshot: Facts | None) -> Facts:
    """The machine as it is known at a line of the log; the snapshot fills the gaps."""

    def value(name: str) -> str | None:
        seen = log.at(name, line)
        return seen.value if seen else None

    base = snapshot or Facts(
        tool_version="", system=System(os="windows", version="", machine="AMD64")
    )
    changes: dict[str, Any] = {
        "target": _interpreter(
            value("executable") or (PORTABLE if value("embedded") else None),
            value("prefix"),
            value("python"),
        ),
        "torch": _torch(value("torch"), value("cuda")),
        "triton": _triton(value("triton")),
        "gpus": _gpus(value("gpu_name"), value("gpu")),
        "drivers": _drivers(value("driver")),
        "msvc": _msvc(value("msvc") or _toolset(value("msc"))),
        "distributions": _distributions(base, value("setuptools")),
    }
    return replace(base, **{name: change for name, change in changes.items() if change})


def _interpreter(
    executable: str | None, prefix: str | None, version: str | None
) -> Interpreter | None:
    if not (executable or prefix or version):
        return None
    prefix = prefix.replace("/", "\\") if prefix else None
    place = prefix or executable or ""
    kind = kind_of(place)
    if prefix:
        inner = r"\Scripts\python.exe" if kind in ("venv", "poetry") else r"\python.exe"
        executable = prefix + inner
    return Interpreter(
        executable=executable or "python",
        source=SOURCE,
        kind=kind,
        version=version,
        prefix=prefix or _folder(executable),
    )


def _folder(executable: str | None) -> str | None:
    """The environment that a python.exe belongs to; in a virtual one it lies in Scripts."""
    folder = (executable or "").rpartition("\\")[0]
    return re.sub(r"\\Scripts$", "", folder, flags=re.IGNORECASE) or None


def _torch(version: str | None, cuda: str | None) -> Torch | None:
    if version is None:
        return None
    tag = re.search(r"\+cu(\d{2})(\d)\b", version)
    return Torch(
        version=version, location="", source=SOURCE, cuda=f"{tag[1]}.{tag[2]}" if tag else cuda
    )


def _triton(version: str | None) -> Triton | None:
    if version is None:
        return None
    return Triton(version=version, location="", source=SOURCE, flavour="unknown")


def _gpus(name: str | None, known: str | None) -> tuple[Gpu, ...]:
    if name is None and known is None:
        return ()
    amd = name is not None and re.search(r"AMD|Radeon", name) is not None
    return (
        Gpu(
            index=0,
            vendor="amd" if amd else "nvidia",
            name=name or "the GPU",
            source=SOURCE,
            compute_capability=known or (capability(name) if name else None),
        ),
    )


def _drivers(version: str | None) -> tuple[Driver, ...]:
    return (Driver(vendor="nvidia", source=SOURCE, version=version),) if version else ()


def _msvc(version: str | None) -> tuple[MsvcToolset, ...]:
    if version is None:
        return ()
    return (
        MsvcToolset(
            version=version,
            path="",
            compiler=None,
            english=None,
            instance="",
            product="",
            source=SOURCE,
            chosen=True,
        ),
    )


def _toolset(compiler: str | None) -> str | None:
    """Toolset 14.44 of the compiler that calls itself 19.44.35207."""
    return compiler.replace("19.", "14.", 1) if compiler else None


def _distributions(base: Facts, setuptools: str | None) -> tuple[Distribution, ...]:
    if setuptools is None:
        return ()
    found = Distribution(name="setuptools", version=setuptools, location="", site_packages="")
    return (found, *(d for d in base.distributions if d.name != "setuptools"))
