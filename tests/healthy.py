"""Facts of a Windows PC on which everything works, to be broken in one place by a test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cases import CORPUS

from tritonwin.facts.amd import chip
from tritonwin.facts.records import (
    CudaToolkit,
    Distribution,
    Facts,
    Gpu,
    Interpreter,
    MsvcToolset,
    Variable,
    WindowsSdk,
)
from tritonwin.problems.records import Problem, Remedy
from tritonwin.system import toml
from tritonwin.system.codec import from_json

HOME = r"C:\ComfyUI\python_embeded"
SITE = HOME + r"\Lib\site-packages"
TRITON = SITE + r"\triton"

_KNOWN = toml.loads((CORPUS / "healthy.toml").read_text("utf-8"))
HEALTHY = from_json(Facts, {"schema": Facts.schema, **_KNOWN, "interpreters": [_KNOWN["target"]]})
TARGET = from_json(Interpreter, _KNOWN["target"])
SYSTEM = HEALTHY.system
FORK = HEALTHY.distributions[1]
TOOLSET = from_json(MsvcToolset, _KNOWN["spare"]["msvc"])
SDK = from_json(WindowsSdk, _KNOWN["spare"]["windows_sdk"])


def dist(name: str, version: str, **more: Any) -> Distribution:
    """An installed distribution of the healthy environment."""
    folder = f"{SITE}\\{name.replace('-', '_')}-{version}.dist-info"
    return Distribution(name=name, version=version, location=folder, site_packages=SITE, **more)


def variable(name: str, value: str, *flaws: str) -> Variable:
    return Variable(name=name, value=value, scope="process", flaws=flaws)


def gpu(capability: str, name: str = "NVIDIA GeForce RTX 4090") -> Gpu:
    return Gpu(
        index=0,
        vendor="nvidia",
        name=name,
        source="NVML",
        compute_capability=capability,
        memory_bytes=24 * 2**30,
    )


def radeon(architecture: str = "gfx1100", **changes: Any) -> Facts:
    """A PC with a card of AMD on which everything works, of that chip."""
    known = chip(architecture)
    card = Gpu(
        index=0,
        vendor="amd",
        name=f"AMD {known.cards if known else 'Radeon'}",
        source=r"C:\Windows\System32\amdhip64_7.dll",
        architecture=architecture,
        integrated=bool(known and known.integrated),
        memory_bytes=16 * 2**30,
    )
    amd = toml.loads((CORPUS / "radeon.toml").read_text("utf-8"))
    for record in (amd["torch"], *amd["rocm"]):
        record["chips"] = [architecture]
    triton = {**_KNOWN["triton"], "version": "3.7.1", "hip_headers": True}
    facts = from_json(
        Facts, {"schema": Facts.schema, **_KNOWN, **amd, "triton": triton, "cuda_toolkits": []}
    )
    own = {"interpreters": (TARGET,), "gpus": (card,), "msvc": (TOOLSET,), "windows_sdks": (SDK,)}
    return replace(facts, **{**own, **changes})


def toolkit(version: str, place: str, **more: Any) -> CudaToolkit:
    """A complete CUDA toolkit, unless `more` takes a part away; `place` may be a variable."""
    root = rf"C:\CUDA\v{version}"
    parts: dict[str, Any] = {
        "nvcc": root + r"\bin\nvcc.exe",
        "ptxas": root + r"\bin\ptxas.exe",
        "header": root + r"\include\cuda.h",
        "library": root + r"\lib\x64\cuda.lib",
    }
    return CudaToolkit(
        path=root,
        source=place,
        variable=place if place in ("CUDA_PATH", "CUDA_HOME") else None,
        layout="system",
        version=version,
        **{**parts, **more},
    )


def without(name: str) -> tuple[Distribution, ...]:
    return tuple(d for d in HEALTHY.distributions if d.name != name)


def changed(**changes: Any) -> Facts:
    """The healthy facts with some fields replaced."""
    return replace(HEALTHY, **changes)


def part(field: str, **changes: Any) -> Facts:
    """The healthy facts with fields of one record replaced: part("torch", cuda=None)."""
    return changed(**{field: replace(getattr(HEALTHY, field), **changes)})


def problem(name: str, severity: Any = "error", certainty: Any = "certain", **more: Any) -> Problem:
    """A problem of that id, with no more words than a test gives it."""
    plain = {"title": "", "cause": "", "evidence": (), "remedy": Remedy(summary="")}
    return Problem(id=name, severity=severity, certainty=certainty, **{**plain, **more})
