"""Statements of a log about the machine, and the facts that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from tritonwin.facts import amd
from tritonwin.facts.records import (
    Distribution,
    Driver,
    Facts,
    Gpu,
    Interpreter,
    MsvcToolset,
    PythonKind,
    Rocm,
    System,
    Torch,
    Triton,
    Variable,
)
from tritonwin.problems.advice import ANY_PYTHON
from tritonwin.problems.catalogue import LinePattern
from tritonwin.problems.conditions import INTELS_TRITON
from tritonwin.problems.explain.lines import clean
from tritonwin.problems.records import Evidence
from tritonwin.system.toml import read_resource

MAX_QUOTE = 500  # characters of a line that is quoted
MAX_VALUES = 32  # changes of one fact that are remembered
SOURCE = "the log"
OVERRIDE = "TRITON_OVERRIDE_ARCH"
NEAR_A_BUILD = 40  # lines
# a card without its RX: "6800xt"
_BARE = re.compile(r"(?<!RX )(?<!RX)\b([5-9]\d{3}\b|[5-9]\d{3}(?= ?XT))", re.IGNORECASE)
_TEMPORARY = re.compile(r"\\pip-[a-z]{1,20}-[^\\]{1,40}\\|\\builds-v0\\|\\Temp\\", re.IGNORECASE)
# no facts about the machine, but what other facts are judged by
NOT_SHOWN = frozenset(
    {
        "amd_gpu", "build", "intel_gpu", "intels_triton", "machine", "missing", "of_python",
        "other_program", "override_arch", "pip_python", "shown", "shown_version", "tag",
        "user_site", "zluda",
    }
)  # fmt: skip
PORTABLE = r"python_embeded\python.exe"  # as ComfyUI's portable package is told to start it


@dataclass(frozen=True)
class Match:
    """A line of the log, as it was read, and the named groups of the pattern that it matches."""

    line: int
    text: str
    groups: Mapping[str, str]

    @property
    def evidence(self) -> Evidence:
        """The line without escapes, and not longer than can be read."""
        text = clean(self.text).strip()
        if len(text) > MAX_QUOTE:
            half = MAX_QUOTE // 2
            text = f"{text[:half]} ... {text[-half:]}"
        return Evidence(text=text, where=f"line {self.line}")


class LogFacts:
    """The lines that state a fact, by its name, in order; a value that repeats is kept once."""

    def __init__(self) -> None:
        self.stated: dict[str, list[Match]] = {}

    def add(self, match: Match) -> None:
        for name, value in self._named(match).items():
            if _thrown_away(name, value, match, self.stated.get("build", [])):
                continue
            lines = self.stated.setdefault(name, [])
            if len(lines) < MAX_VALUES and (not lines or lines[-1].groups[name] != value):
                lines.append(Match(match.line, match.text, {**match.groups, name: value}))
                lines.sort(key=lambda m: m.line)  # lines that were joined come after their parts

    def _named(self, match: Match) -> Mapping[str, str]:
        """The groups; a version that stands below its package's name bears that name."""
        version, shown = match.groups.get("shown_version"), self.stated.get("shown")
        if not version or not shown or shown[-1].line != match.line - 1:
            return match.groups
        return {re.sub(r"[-_].*", "", shown[-1].groups["shown"]): version}

    def at(self, line: int, *names: str) -> Match | None:
        """The statement in force at a line: the last before it, else the first after it.

        Of several names, the first that the log states.
        """
        for name in names:
            if lines := self.stated.get(name):
                return next((m for m in reversed(lines) if m.line <= line), lines[0])
        return None

    def value(self, line: int, name: str) -> str | None:
        """The value of a fact at a line."""
        match = self.at(line, name)
        return match.groups[name] if match else None

    @property
    def foreign(self) -> bool:
        """True for the log of another program, in which nothing speaks of Python or torch."""
        return "other_program" in self.stated and "of_python" not in self.stated


def _thrown_away(name: str, value: str, match: Match, builds: Sequence[Match]) -> bool:
    """True for what is said of an environment that pip or uv makes for one build, or of pip's own.

    A setup script that runs in it prints versions without a path, soon after the path was shown.
    """
    if name == "build":
        return False
    if _TEMPORARY.search(value):
        return True
    after = any(each.line <= match.line <= each.line + NEAR_A_BUILD for each in builds)
    return name in ("torch", "triton") and after and "__version__" in match.text


@dataclass(frozen=True, kw_only=True)
class FactTable:
    """The content of `facts.toml`.

    Attributes:
        gpu: a regular expression for the names of GPUs, by their compute capability.
        python: one for the folders of a Python, by its kind.
    """

    fact: tuple[LinePattern, ...]
    gpu: dict[str, str]
    python: dict[PythonKind, str]


@cache
def knowledge() -> FactTable:
    """The shipped knowledge about statements in logs."""
    return read_resource(__package__, "facts.toml", FactTable)


def capability(gpu_name: str) -> str | None:
    """The compute capability of an NVIDIA GPU of that name."""
    return next((c for c, name in knowledge().gpu.items() if re.search(name, gpu_name)), None)


def kind_of(place: str) -> PythonKind:
    """The kind of a Python from the folder or the path of its python.exe."""
    folder = re.sub(r"\\python\.exe$", "", place, flags=re.IGNORECASE)
    marks = knowledge().python.items()
    return next((k for k, place in marks if re.search(place, folder, re.IGNORECASE)), "unknown")


def facts_at(log: LogFacts, line: int, snapshot: Facts | None) -> Facts:
    """The machine as it is known at a line of the log; the snapshot fills the gaps."""

    value = partial(log.value, line)
    windows = value("prefix") or value("executable") or value("running") or value("embedded")
    system = System(
        os="linux" if value("linux") and not windows else "windows", version="", machine="AMD64"
    )
    base = snapshot or Facts(tool_version="", system=system)
    changes: dict[str, Any] = {
        "target": _interpreter(log, line),
        "gpus": _gpus(log, value("gpu_name"), value("gpu")),
        "rocm": (Rocm(path="", source=SOURCE, kind="zluda"),) if value("zluda") else (),
    }
    if version := value("torch"):
        tag = re.search(r"\+cu(\d{2})(\d)\b", version)
        cuda = f"{tag[1]}.{tag[2]}" if tag else value("cuda")
        changes["torch"] = Torch(version=version, location="", source=SOURCE, cuda=cuda)
    version, intels = value("triton"), value("intels_triton")
    if version or intels:
        changes["triton"] = Triton(
            version=version,
            location="",
            source=SOURCE,
            flavour="unknown",
            distribution=INTELS_TRITON[0] if intels else None,
        )
    if named := value("override_arch"):
        variable = Variable(name=OVERRIDE, value=named, scope="process")
        kept = (v for v in base.variables if v.name.upper() != OVERRIDE)
        changes["variables"] = (variable, *kept)
    if version := value("driver"):
        changes["drivers"] = (Driver(vendor="nvidia", source=SOURCE, version=version),)
    # toolset 14.44 has the compiler that calls itself 19.44.35207
    if version := value("msvc") or (value("msc") or "").replace("19.", "14.", 1):
        changes["msvc"] = (MsvcToolset(version=version, path="", source=SOURCE, chosen=True),)
    if version := value("setuptools"):
        found = Distribution(name="setuptools", version=version, location=SOURCE, site_packages="")
        others = (d for d in base.distributions if d.name != found.name)
        changes["distributions"] = (found, *others)
    return replace(base, **{name: change for name, change in changes.items() if change})


def same_folder(one: str, other: str) -> bool:
    """Compare two paths of Windows, however a log spells them."""
    return len({path.replace("/", "\\").rstrip("\\").lower() for path in (one, other)}) == 1


def _interpreter(log: LogFacts, line: int) -> Interpreter | None:
    value = partial(log.value, line)
    running, prefix, pip = value("running"), value("prefix"), value("pip_prefix")
    executable = value("executable") or (PORTABLE if value("embedded") else None)
    version = value("python")
    if version is None and (tag := value("tag")):
        version = f"{tag[0]}.{tag[1:]}"
    # pip's own Python is another one where another environment is seen to run
    if version is None and (prefix is None or (pip and same_folder(pip, prefix))):
        version = value("pip_python")
    user_site, machine = value("user_site"), value("machine")
    if user_site and not (running or executable or prefix):
        executable = f"py -3.{user_site[1:]}"  # Windows' launcher
        version = version or f"3.{user_site[1:]}"
    if not (running or executable or prefix or version or machine):
        return None
    if running:
        executable, prefix = running, _folder(running)
    prefix = prefix.replace("/", "\\") if prefix else None
    kind = kind_of(prefix or executable or "")
    if prefix and not running:
        inner = r"\Scripts\python.exe" if kind == "venv" else r"\python.exe"
        executable = prefix + inner
    return Interpreter(
        executable=executable or ANY_PYTHON,
        source=SOURCE,
        kind=kind,
        version=version,
        prefix=prefix or _folder(executable),
        machine=machine.upper() if machine else None,
    )


def _folder(executable: str | None) -> str | None:
    """The environment that a python.exe belongs to; in a virtual one it lies in Scripts."""
    folder = (executable or "").rpartition("\\")[0]
    return re.sub(r"\\Scripts$", "", folder, flags=re.IGNORECASE) or None


def _gpu(
    vendor: Literal["nvidia", "amd", "intel"], name: str, capability: str | None = None
) -> Gpu:
    return Gpu(index=0, vendor=vendor, name=name, source=SOURCE, compute_capability=capability)


def _gpus(log: LogFacts, name: str | None, known: str | None) -> tuple[Gpu, ...]:
    """The card in use. A capability alone may be that of any vendor's."""
    known = re.sub(r",\s?", ".", known) if known else None  # a tuple of Python's
    names, devices = (
        " | ".join(m.groups[fact] for m in log.stated.get(fact, ()))
        for fact in ("amd_gpu", "gpu_name")
    )
    if name and not re.search(r"AMD|Radeon", name):
        return (_gpu("nvidia", name, known or capability(name)),)
    if names or re.search(r"AMD|Radeon", devices):
        chip = _chip(names)
        if chip is None:
            return (_gpu("amd", "AMD Radeon"),)
        card = _gpu("amd", f"AMD {chip.cards}")
        return (replace(card, architecture=chip.name, integrated=chip.integrated),)
    if log.stated.get("intel_gpu"):
        return (_gpu("intel", "Intel Arc"),)
    return (_gpu("nvidia", "the GPU", known),) if known else ()


def _chip(names: str) -> amd.Chip | None:
    """The one chip that is meant: cards before gfx names, and before what is built in."""
    names = _BARE.sub(r"RX \1", names)
    stated = (c for c in amd.chips() if re.search(rf"\b{c.name}\b", names))
    named = amd.chips_in(names) or tuple(stated)
    cards = [c for c in named if not c.integrated] or named
    return cards[0] if len(cards) == 1 else None
