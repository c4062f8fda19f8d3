"""A real CUDA extension with a real nvcc, of a toolkit that is put together from wheels alone."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import planned
import pytest
from world import HERE, PIP

from tritonwin.build.runner import make
from tritonwin.build.source import BuildContext

pytestmark = pytest.mark.full


def test_with_a_toolkit_from_the_package_index(
    tmp_path: Path, torch_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planned.plan(
        torch_target, tmp_path, {}, recipe="cuda-extension", source=str(HERE / "tiny_cuda"),
        archs=("9.0", "12.0"), cuda="assembled", jobs=2,
    )  # fmt: skip
    assert plan.cuda
    assert plan.cuda.origin == "assembled"
    # what a torch with CUDA would have loaded before the extension is imported
    monkeypatch.setenv("LD_LIBRARY_PATH", str(Path(plan.cuda.path) / "lib"))
    said: list[object] = []
    outcome = make(plan, BuildContext(pip=lambda: PIP, on_event=said.append))
    assert outcome.wheel, Path(outcome.log).read_text()[-4000:]
    assert plan.cuda.path in Path(outcome.log).read_text(), "another nvcc was used"
    assert outcome.proof
    assert outcome.proof.archs == ("9.0", "12.0")
    assert outcome.proven, outcome.proof.steps
    assert f"+{plan.local_version}-" in outcome.wheel
    assert outcome.info
    assert len(json.loads(Path(outcome.info).read_text())["inputs"]) == len(plan.cuda.parts)
    assert ctypes.CDLL(str(Path(plan.cuda.path) / "lib/libcudart.so"))
