"""Whether a signature's conditions hold, as far as is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tritonwin.facts.model import Facts
from tritonwin.problems.catalogue.signatures import ABSENT, VERSIONS
from tritonwin.problems.explain.log_facts import LogFacts, Seen
from tritonwin.problems.model import Condition
from tritonwin.support.versions import fits

# The log's facts that a condition rests on, where it does not bear the same name.
_RESTS_ON = {
    "gpu": ("gpu", "gpu_name"),
    "torch_build": ("torch",),
    "cuda": ("cuda", "torch"),
    "python_kind": ("prefix", "executable", "embedded"),
    "pip_target": ("pip_prefix",),
    "os": ("linux", "prefix", "executable", "embedded"),
    "msvc": ("msvc", "msc"),
}


def holds(condition: Condition, facts: Facts, log: LogFacts, line: int) -> bool | None:
    """True, False, or None where the fact is not known; `facts` are those at that line."""
    if condition.fact == "pip_target":
        value = _pip_target(log, line)
    elif condition.fact == "os":
        value = _os(facts, log, line)
    else:
        value = _VALUES[condition.fact](facts)
    if value is None:
        return None
    if condition.fact in VERSIONS and value != ABSENT:
        return any(allowed != ABSENT and fits(value, allowed) for allowed in condition.allowed)
    return value in condition.allowed


def source(condition: Condition, log: LogFacts, line: int) -> Seen | None:
    """The line of the log that the condition's value was read from."""
    names = _RESTS_ON.get(condition.fact, (condition.fact,))
    return next((seen for name in names if (seen := log.at(name, line))), None)


def _torch(facts: Facts) -> str | None:
    if facts.torch:
        return facts.torch.version
    return ABSENT if examined(facts) else None


def _triton(facts: Facts) -> str | None:
    if facts.triton and not facts.triton.namespace:
        return facts.triton.version
    return ABSENT if examined(facts) else None


def examined(facts: Facts) -> bool:
    """Whether the facts come from a machine: then what is not in them is not there."""
    return bool(facts.tool_version)


def _build(facts: Facts) -> str | None:
    torch = facts.torch
    if torch is None:
        return None
    local = torch.version.partition("+")[2]
    for mark, build in (("cpu", "cpu"), ("cu", "cuda"), ("rocm", "rocm"), ("xpu", "xpu")):
        if local.startswith(mark):
            return build
    return "cuda" if torch.cuda else "rocm" if torch.hip else None


def _kind(facts: Facts) -> str | None:
    target = facts.target
    return None if target is None or target.kind == "unknown" else target.kind


def _setuptools(facts: Facts) -> str | None:
    found = facts.distribution("setuptools")
    return found.version if found else None


_VALUES: Mapping[str, Callable[[Facts], str | None]] = {
    "torch": _torch,
    "triton": _triton,
    "torch_build": _build,
    "python_kind": _kind,
    "setuptools": _setuptools,
    "python": lambda facts: facts.target.version if facts.target else None,
    "cuda": lambda facts: facts.torch.cuda if facts.torch else None,
    "gpu": lambda facts: next(
        (g.compute_capability for g in facts.gpus if g.compute_capability), None
    ),
    "msvc": lambda facts: next((m.version for m in facts.msvc if m.chosen), None),
    "driver": lambda facts: facts.nvidia_driver.version if facts.nvidia_driver else None,
}


def _pip_target(log: LogFacts, line: int) -> str | None:
    pip, running = log.at("pip_prefix", line), log.at("prefix", line)
    if pip is None or running is None:
        return None
    return "same" if _folder(pip.value) == _folder(running.value) else "other"


def _folder(path: str) -> str:
    return path.replace("/", "\\").rstrip("\\").lower()


def _os(facts: Facts, log: LogFacts, line: int) -> str | None:
    if examined(facts):
        return facts.system.os
    if log.at("linux", line):
        return "linux"
    return "windows" if any(log.at(n, line) for n in ("prefix", "executable", "embedded")) else None
