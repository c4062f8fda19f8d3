from __future__ import annotations

from pathlib import Path

import pytest
from hosts import fake_host
from installed import target
from trees import plant, write

from tritonwin.facts import caches
from tritonwin.facts.caches import read_caches
from tritonwin.facts.dlls.loading import DllSearch
from tritonwin.facts.records import Cache


def read(folder: Path) -> Cache:
    host = fake_host(folder, {"TRITON_CACHE_DIR": str(folder)})
    found, inductor = read_caches(target(), host, DllSearch(None))
    assert (found.kind, inductor.kind) == ("triton", "inductor")
    return found


def test_the_longest_path_is_measured(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", {"AB/kernel.cubin": b"12345", "CD/EF/kernel.json": b"{}"})
    found = read(folder)
    assert found.longest_path == len(str(folder / "CD" / "EF" / "kernel.json"))


@pytest.mark.parametrize("limit", ["WALK_FILES", "WALK_SECONDS"])
def test_a_walk_that_is_cut_short_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    plant(tmp_path / "c", *(f"{n}/kernel.json" for n in range(5)))
    monkeypatch.setattr(caches, limit, 3 if limit == "WALK_FILES" else -1)

    found = read(tmp_path / "c")

    assert found.complete is False
    assert found.entries < 5
