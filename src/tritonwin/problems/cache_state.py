"""Judge entries of caches: usable for the target, foreign to it, or stale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tritonwin.facts.caches import CacheEntry
from tritonwin.facts.records import Facts
from tritonwin.problems.checks.caches import python_dll, stale_reason
from tritonwin.support.versions import fits

_STILL_WRITING = 3600  # seconds after which nobody writes an entry any more


CacheState = Literal[
    "usable",
    "foreign",  # for another Python, Triton or GPU, which may be on this machine too
    "stale",  # of no use to anybody, or in the way
]


@dataclass(frozen=True, kw_only=True)
class JudgedEntry:
    """An entry of a cache, what it was built for and how it stands."""

    entry: CacheEntry
    state: CacheState
    built_for: str
    reason: str = ""


def judge(entry: CacheEntry, facts: Facts) -> JudgedEntry:
    """Judge an entry for the target of `facts`."""
    state, reason = _state(entry, facts)
    triton = f"Triton {entry.triton_version}" if entry.triton_version else ""
    arch = f"{entry.backend or 'cuda'}:{entry.arch}" if entry.arch else ""
    built_for = ", ".join(filter(None, (arch, triton))) or "not known"
    if entry.helper:
        built_for = entry.helper.python_dll or "any Python"
    return JudgedEntry(entry=entry, state=state, built_for=built_for, reason=reason)


def _state(entry: CacheEntry, facts: Facts) -> tuple[CacheState, str]:
    if entry.kind == "unfinished":
        if entry.idle_seconds < _STILL_WRITING:
            return "usable", "perhaps being written"
        return "stale", "a program was ended while it wrote this"
    if entry.kind == "helper":
        if entry.helper is None or facts.target is None:
            return "usable", ""
        if not entry.helper.usable:
            return "foreign", "this Python does not load modules of that name"
        reason = stale_reason(entry.helper, python_dll(facts.target))
        return ("stale", f"it {reason}") if reason else ("usable", "")
    if entry.damage:
        return "stale", entry.damage
    reason = _foreign_kernel(entry, facts) if entry.kind == "kernel" else None
    return ("foreign", reason) if reason else ("usable", "")


def _foreign_kernel(entry: CacheEntry, facts: Facts) -> str | None:
    """The reason for which a compiled kernel is not for the Triton or the GPUs here."""
    installed = facts.triton.version if facts.triton else None
    if installed and entry.triton_version and not fits(entry.triton_version, f"=={installed}"):
        return f"this Python has Triton {installed}, which compiles again"
    cards = [gpu.compute_capability or "" for gpu in facts.nvidia_gpus]
    present = {capability.replace(".", "") for capability in cards}
    if entry.backend == "cuda" and cards and all(cards) and entry.arch not in present:
        return f"the GPU here is of {', '.join(sorted(present))}"
    chips = {gpu.architecture or "" for gpu in facts.amd_gpus}
    if entry.backend == "hip" and chips and all(chips) and entry.arch not in chips:
        return f"the card here is {', '.join(sorted(chips))}"
    return None
