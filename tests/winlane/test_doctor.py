"""`doctor` in real Windows Pythons with real triton-windows wheels: healthy, and broken in one way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from faults import AMD, FAULTS, HEALTHY, Fault, Seed, each, one_an_id, prepare, seeded
from winlane import Machine, Result


def doctor(seed: Seed) -> dict[str, Any]:
    return parsed(seed.machine.tool("doctor", "--python", seed.env.python, "--json", cwd=seed.cwd))


def parsed(result: Result) -> dict[str, Any]:
    assert result.stderr == ""
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("fault", [*one_an_id(FAULTS), *(each(f, quick=f.quick) for f in AMD)])
def test_names_the_fault_first(machine: Machine, fault: Fault) -> None:
    document = doctor(seeded(machine, fault))
    assert "problems" in document, document
    first = document["problems"][0]
    assert first["id"] == fault.problem
    assert fault.severity in ("", first["severity"])
    assert fault.names in json.dumps(first["evidence"], ensure_ascii=False).replace("\\\\", "\\")
    others = [p["id"] for p in document["problems"][1:] if p["severity"] == "error"]
    assert others == []
    assert [c for c in document["checks"] if c["state"] == "crashed"] == []
    assert first["remedy"]["summary"]


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda f: f"{f.kind} {f.version}")
def test_healthy_environments_give_nothing_above_info(machine: Machine, healthy: Fault) -> None:
    seed = prepare(machine, healthy)
    result = seed.machine.tool("doctor", "--python", seed.env.python, "--json", cwd="C:\\")
    document = parsed(result)
    assert [p["id"] for p in document["problems"] if p["severity"] != "info"] == []
    assert result.returncode == 0


@pytest.mark.parametrize(
    "problem",
    ["embedded-python-no-headers", "cc-variable-wrong", "triton-too-new-for-torch", "max-path-260"],
)
def test_a_snapshot_shows_the_same_problems_elsewhere(
    machine: Machine, tmp_path: Path, problem: str
) -> None:
    machine.home("Ada")
    fault = next(f for f in FAULTS if f.problem == problem)
    seed = seeded(machine, fault)
    here = doctor(seed)
    machine.tool(
        "snapshot", "-o", r"C:\report.json", "--python", seed.env.python, cwd=seed.cwd
    ).check()
    file = tmp_path / "report.json"
    file.write_bytes(seed.env.path(r"C:\report.json").read_bytes())
    assert b"Ada" not in file.read_bytes()
    there = subprocess.run(
        [sys.executable, "-m", "tritonwin", "doctor", "--snapshot", str(file), "--json"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    report = json.loads(there.stdout)
    assert [p["id"] for p in report["problems"]] == [p["id"] for p in here["problems"]]
