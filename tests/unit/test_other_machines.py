"""PCs with ARM64 processors and with Intel's GPUs, made by hand from public reports, as snapshots.

No such PC was at hand: what doctor and install say of these facts is all that is shown.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import healthy
import pytest
from healthy import changed, dist

from tritonwin.facts import snapshot
from tritonwin.facts.records import Driver, Facts, Gpu, Torch, Triton
from tritonwin.facts.redaction.identity import Identity
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.support.fitting import needs_of
from tritonwin.support.install_plan import torch_indexes
from tritonwin.support.matrix import indexes

# unsloth#10282: RTX Spark and N1X, Windows on ARM64
SPARK = replace(healthy.gpu("12.1", "NVIDIA RTX Spark"), memory_bytes=128 * 2**30)
NVIDIA = Driver(vendor="nvidia", source="NVML", version="590.44", cuda="13.4")
ARC = Gpu(index=0, vendor="intel", name="Intel(R) Arc(TM) A770 Graphics", source="registry")
IRIS = Gpu(index=0, vendor="intel", name="Intel(R) UHD Graphics 770", source="registry")
INTEL = Driver(vendor="intel", source="registry", version="32.0.101.6734")


def pc(
    torch: str | None,
    triton: str | None,
    gpus: tuple[Gpu, ...],
    drivers: tuple[Driver, ...],
    *,
    system: str = "AMD64",
    python: str = "AMD64",
    version: str = "3.12.9",
) -> Facts:
    """A PC with this torch, and Triton as "triton-windows==3.8.0.post29"."""
    name, _, post = (triton or "").partition("==")
    found = (dist("torch", torch),) if torch else ()
    local = (torch or "").partition("+")[2]
    return changed(
        system=replace(healthy.SYSTEM, machine=system),
        target=replace(
            healthy.TARGET,
            machine=python,
            version=version,
            platform_tag=f"win_{python.lower()}",
        ),
        distributions=(*found, *((dist(name, post),) if triton else ())),
        torch=Torch(
            version=torch,
            location="",
            source="torch/version.py",
            cuda=f"{local[2:4]}.{local[4:]}" if local.startswith("cu") else None,
            xpu="20250301" if local == "xpu" else None,
        )
        if torch
        else None,
        triton=_triton(name, post) if triton else None,
        gpus=gpus,
        drivers=drivers,
        cuda_toolkits=(),
    )


def _triton(name: str, post: str) -> Triton:
    base = healthy.HEALTHY.triton
    assert base
    version = ".".join(post.split(".")[:3])
    flavour: Any = "fork" if name == "triton-windows" else "unknown"
    return replace(base, version=version, distribution=name, flavour=flavour)


FORK = "triton-windows==3.8.0.post29"
ON_ARM = {"system": "ARM64", "python": "ARM64"}
NVCUDA = Driver(vendor="nvidia", source="System32", error="nvcuda.dll was not found")
# the facts, what doctor names above info, and install's index of torch ("" for none)
MACHINES: dict[str, tuple[Facts, list[str], str]] = {
    "an x64 Python on an RTX Spark": (
        pc("2.14.0+cu130", FORK, (SPARK,), (NVIDIA,), system="ARM64"),
        ["arm64-emulated-python"],
        "",
    ),
    "an x64 Python that does not know where it runs": (
        pc("2.14.0+cu130", FORK, (SPARK,), (NVIDIA,)),
        ["arm64-emulated-python"],
        "",
    ),
    "an ARM64 Python with NVIDIA's torch": (
        pc("2.14.0+cu134", FORK, (SPARK,), (NVIDIA,), **ON_ARM),
        [],
        "",
    ),
    "an ARM64 Python without torch": (
        pc(None, None, (SPARK,), (NVIDIA,), **ON_ARM),
        ["triton-missing", "python-unsupported"],
        "",
    ),
    "a Snapdragon, computing on its processor": (
        pc("2.14.0", None, (), (NVCUDA,), **ON_ARM),
        [],
        "",
    ),
    "a Snapdragon, with triton-windows": (
        pc("2.14.0", FORK, (), (NVCUDA,), **ON_ARM),
        [],
        "",
    ),
    "a Snapdragon, with an x64 Python": (
        pc("2.14.0", FORK, (), (NVCUDA,), system="ARM64"),
        [],
        "",
    ),
    "an Arc with torch for XPU": (
        pc("2.9.1+xpu", "triton-xpu==3.5.0", (ARC,), (NVCUDA, INTEL)),
        [],
        "xpu",
    ),
    "an Arc whose Triton was replaced": (
        pc("2.9.1+xpu", "triton-windows==3.5.1.post24", (ARC,), (NVCUDA, INTEL)),
        ["intel-wrong-triton"],
        "xpu",
    ),
    "an Arc with the processor's torch": (  # vladmandic/sdnext#4357
        pc("2.9.0+cpu", None, (ARC,), (NVCUDA, INTEL)),
        ["intel-wrong-torch"],
        "xpu",
    ),
    "an Arc with NVIDIA's torch": (
        pc("2.9.1+cu128", "triton-windows==3.5.1.post24", (ARC,), (NVCUDA, INTEL)),
        ["intel-wrong-torch"],
        "xpu",
    ),
    "an office PC, computing on its processor": (
        pc("2.9.1+cpu", None, (IRIS,), (NVCUDA, INTEL)),
        [],
        "",
    ),
}
# no NVIDIA index or driver, no Triton of another vendor, no torch of the processor over one for a GPU
WRONG = re.compile(r"whl/cu\d|whl/cpu|nvidia-smi|NVIDIA driver|pip install\b.*\btriton-windows")


@pytest.mark.parametrize("name", MACHINES)
def test_right_findings_and_no_wrong_command(name: str, tmp_path: Path) -> None:
    facts, expected, index = MACHINES[name]
    file = tmp_path / "report.json"
    snapshot.write(facts, file, Identity(users=(), homes=()))
    there = snapshot.read(file)
    found = diagnose(there, CHECKS)
    grave = [p for p in found.problems if p.severity != "info"]
    assert [p.id for p in grave] == expected
    assert not [c for c in found.checks if c.state == "crashed"]
    for problem in found.problems:
        for command in (
            *problem.remedy.commands,
            problem.question.command if problem.question else "",
        ):
            assert not WRONG.search(command), (problem.id, command)
    torch = torch_indexes(needs_of(there))
    assert torch[:1] == ((f"{indexes().torch}/{index}",) if index else torch[:1])
    assert bool(torch) == bool(index) or there.nvidia_gpus
