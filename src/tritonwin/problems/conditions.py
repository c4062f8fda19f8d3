"""Conditions on facts: the value of each fact that one may name, and whether it is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from tritonwin.facts import amd
from tritonwin.facts.records import Distribution, Facts, Torch, Triton
from tritonwin.problems.catalogue import ABSENT
from tritonwin.support.versions import fits

# pytorch-triton-xpu is the older name
INTELS_TRITON = ("triton-xpu", "pytorch-triton-xpu")


def allows(fact: str, allowed: Iterable[str], value: str | None) -> bool | None:
    """Compare a value with those allowed: ranges of versions, or words; None: it is unknown."""
    if value is None:
        return None
    if fact in WORDS or value == ABSENT:
        return value in allowed
    return any(each != ABSENT and fits(value, each) for each in allowed)


def value_of(fact: str, facts: Facts) -> str | None:
    """The value of a fact of `catalogue.When`; None where it is not known."""
    return _VALUES[fact](facts)


def examined(facts: Facts) -> bool:
    """True where the facts come from a machine: then nothing exists that they lack."""
    return bool(facts.tool_version)


def _build(facts: Facts) -> str | None:
    torch = facts.torch
    local = torch.version.partition("+")[2] if torch else ""
    for mark, build in (("cpu", "cpu"), ("cu", "cuda"), ("rocm", "rocm"), ("xpu", "xpu")):
        if local.startswith(mark):
            return build
    if facts.triton and facts.triton.distribution in INTELS_TRITON and not examined(facts):
        return "xpu"
    if torch is None:
        return None
    return "cuda" if torch.cuda else "rocm" if torch.hip else "xpu" if torch.xpu else None


def package(fact: str, facts: Facts) -> Torch | Triton | Distribution | None:
    """The installed package that a fact is the version of."""
    if fact == "torch":
        return facts.torch
    if fact == "triton":
        return facts.triton if facts.triton and not facts.triton.namespace else None
    return facts.distribution(fact)


def _version(fact: str, facts: Facts) -> str | None:
    found = package(fact, facts)
    return found.version if found else ABSENT if examined(facts) else None


def _amd(facts: Facts) -> str | None:
    """The state of AMD's own torch for the card in use, or ZLUDA in its place."""
    if any(rocm.kind == "zluda" for rocm in facts.rocm):
        return "zluda"
    known = amd.chip(facts.amd_card.architecture) if facts.amd_card else None
    if known is None:
        return None
    return "older" if not known.family else "integrated" if known.integrated else "served"


def _setting(name: str, facts: Facts) -> str | None:
    value = getattr(facts.system, name)
    return ("off", "on")[value] if isinstance(value, bool) else value


_SETTINGS = ("long_paths", "smart_app_control")
_PACKAGES = ("torch", "triton", "setuptools", "bitsandbytes", "sageattention", "xformers")
_VALUES: Mapping[str, Callable[[Facts], str | None]] = {
    **{name: partial(_version, name) for name in _PACKAGES},
    **{name: partial(_setting, name) for name in _SETTINGS},
    "windows": lambda facts: facts.system.version if facts.windows else None,
    "torch_build": _build,
    "python_kind": lambda facts: (
        facts.target.kind if facts.target and facts.target.kind != "unknown" else None
    ),
    "python": lambda facts: facts.target.version if facts.target else None,
    "cuda": lambda facts: facts.torch.cuda if facts.torch else None,
    "gpu": lambda facts: next(
        (g.compute_capability for g in facts.gpus if g.compute_capability), None
    ),
    "msvc": lambda facts: next((m.version for m in facts.msvc if m.chosen), None),
    "driver": lambda facts: facts.nvidia_driver.version if facts.nvidia_driver else None,
    "os": lambda facts: facts.system.os if examined(facts) else None,
    "vendor": lambda facts: next(
        (g.vendor for g in facts.gpus), {"rocm": "amd", "xpu": "intel"}.get(_build(facts) or "")
    ),
    "amd": _amd,
    "machine": lambda facts: (
        facts.target.machine.lower() if facts.target and facts.target.machine else None
    ),
    "pip_target": lambda _: None,  # a log alone shows which pip was used
}
# those whose values are words, not versions
WORDS = frozenset(
    {"amd", "machine", "os", "python_kind", "torch_build", "pip_target", "vendor", *_SETTINGS}
)
