"""PCs with ARM64 processors and with Intel's GPUs, made by hand from public reports, as snapshots.

No such PC was at hand: what doctor and install say of these facts is all that is shown.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import CORPUS
from healthy import dist
from pc import pc

from tritonwin.facts import snapshot
from tritonwin.facts.records import Facts, Torch
from tritonwin.facts.redaction.identity import Identity
from tritonwin.problems.checks import CHECKS
from tritonwin.problems.doctor import diagnose
from tritonwin.support.fitting import needs_of
from tritonwin.support.install_plan import torch_indexes
from tritonwin.support.matrix import load
from tritonwin.system import toml

TABLE = toml.loads((CORPUS / "diagnoses.toml").read_text("utf-8"))
# no NVIDIA index or driver, no Triton of another vendor, no torch of the processor over one for a GPU
WRONG = re.compile(r"whl/cu\d|whl/cpu|nvidia-smi|NVIDIA driver|pip install\b.*\btriton-windows")


def machine(row: dict[str, Any]) -> Facts:
    """The PC of a row, whose torch and Triton are the only distributions."""
    python = row.get("python", "AMD64")
    changes: dict[str, Any] = {
        **TABLE["hardware"][row["hardware"]],
        "system": {"machine": row.get("system", "AMD64")},
        "target": {"machine": python, "platform_tag": f"win_{python.lower()}"},
        "cuda_toolkits": [],
        "lacks": ["torch"],
    }
    name, _, version = row.get("triton", "").partition("==")
    if name:
        flavour = "fork" if name == "triton-windows" else "unknown"
        plain = ".".join(version.split(".")[:3])
        changes["triton"] = {"version": plain, "distribution": name, "flavour": flavour}
    else:
        changes["lacks"].append("triton")
    found = [dist(name, version)] if name else []
    torch = None
    if whole := row.get("torch"):
        found.insert(0, dist("torch", whole))
        local = whole.partition("+")[2]
        cuda = f"{local[2:4]}.{local[4:]}" if local.startswith("cu") else None
        xpu = "20250301" if local == "xpu" else None
        torch = Torch(version=whole, location="", source="torch/version.py", cuda=cuda, xpu=xpu)
    return replace(pc(changes), torch=torch, distributions=tuple(found))


@pytest.mark.parametrize("row", TABLE["others"], ids=lambda row: row["about"])
def test_right_findings_and_no_wrong_command(row: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    snapshot.write(machine(row), file, Identity(users=(), homes=()))
    there = snapshot.read(file)
    found = diagnose(there, CHECKS)
    assert [p.id for p in found.problems if p.severity != "info"] == row["finds"]
    assert not [c for c in found.checks if c.state == "crashed"]
    for problem in found.problems:
        asked = [problem.question.command] if problem.question else []
        for command in (*problem.remedy.commands, *asked):
            assert not WRONG.search(command), (problem.id, command)
    torch, index = torch_indexes(needs_of(there)), row.get("index")
    assert torch[:1] == ((f"{load().torch_index}/{index}",) if index else torch[:1])
    assert bool(torch) == bool(index) or there.nvidia_gpus
