"""The baselines compute the same function, and the clock counts as it should."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bench
import pytest
import torch
from bench_parts.baselines import Transform, lookup
from bench_parts.clock import Clock
from torch import Tensor

from byte_spectral.definition import reference

CPU = torch.device("cpu")


@pytest.mark.parametrize("means", ["naive", "rfft", "stft"])
@pytest.mark.parametrize(("length", "bins"), [(8, 16), (7, 16), (32, 16), (1, 4)])
def test_a_baseline_is_the_definition(means: str, length: int, bins: int) -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randint(256, (2, 40), dtype=torch.uint8, generator=source)
    found: Tensor = getattr(Transform.on(CPU, length, bins), means)(x)
    wanted = reference(x, W=length, K=bins)
    assert found.shape == wanted.shape
    assert (found - wanted).norm() < 1e-6 * wanted.norm()


def test_a_lookup_is_an_embedding() -> None:
    table = torch.randn(256, 3)
    ids = torch.tensor([5, 0, 255])
    assert torch.equal(lookup(table, ids), table[ids])


@pytest.mark.parametrize(("size", "launches"), [(33_554_432, 44), (1, 256), (1 << 40, 4)])
def test_launches_rotate_over_more_than_a_cache(size: int, launches: int) -> None:
    assert Clock(device=torch.device("cuda")).launches(size) == launches


def test_the_median_is_given_for_each_launch() -> None:
    calls: list[int] = []

    def launch(i: int) -> Tensor:
        calls.append(i)
        return torch.zeros(1)

    timing = Clock(device=CPU).busy(launch, 1)
    assert set(calls) == {0, 1}
    assert 0 < timing.low <= timing.us <= timing.high


def test_the_benchmark_can_be_rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "bench.json"
    options = ["--device", "cpu", "--tiny", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["bench.py", *options])
    assert bench.main() in {0, 1}  # its figures mean nothing here
    found = json.loads(out.read_text())
    assert found["failed"] == {}
    assert {each["section"] for each in (*found["cases"], *found["goals"])} == set(bench.SECTIONS)
    assert {each["must"] for each in found["goals"]} == {"1", "2", "3", "4", "5"}
    errors = [each for each in found["goals"] if each["what"].startswith("error of")]
    assert errors
    assert all(each["met"] for each in errors)


def test_what_failed_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "bench.json"
    goal = {"section": "errors", "must": "5", "what": "an old one", "value": 1, "limit": 2,
            "least": False, "met": True}  # fmt: skip
    kept = {"section": "host", "what": "kept", "shape": [1], "us": 1.0}
    before = {"failed": {"errors": "CUDA error"}, "cases": [kept], "goals": [goal]}
    out.write_text(json.dumps(before))
    options = ["--device", "cpu", "--tiny", "--again", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["bench.py", *options])
    assert bench.main() == 0
    found = json.loads(out.read_text())
    assert found["cases"] == [kept]
    assert found["goals"]
    assert "an old one" not in {each["what"] for each in found["goals"]}
