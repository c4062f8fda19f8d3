"""The lane's cache: what is half built never looks finished, and what is shared stays whole."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from winlane.cache import LINKED_FROM, Cache, copy_tree, default_root, fingerprint, replace_file


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache.open(tmp_path / "root")


def test_product_is_built_once(cache: Cache) -> None:
    calls: list[Path] = []

    def build(folder: Path) -> None:
        calls.append(folder)
        (folder / "file").write_text("x")

    first = cache.product("some/thing", build)
    assert cache.product("some/thing", build) == first
    assert (first / "file").read_text() == "x"
    assert len(calls) == 1
    assert (cache.root / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172")


def test_interrupted_build_is_begun_again(cache: Cache) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.product("thing", interrupted)
    assert not (cache.root / "thing").exists()
    finished = cache.product("thing", lambda folder: (folder / "whole").touch())
    assert [each.name for each in finished.iterdir()] == ["whole"]


def test_two_at_once_build_once(cache: Cache) -> None:
    calls: list[int] = []

    def build(folder: Path) -> None:
        calls.append(1)
        time.sleep(0.1)

    threads = [threading.Thread(target=cache.product, args=("thing", build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_claim_is_exclusive_until_closed(cache: Cache) -> None:
    held = cache.claim("prefix")
    assert held
    assert cache.claim("prefix") is None
    held.close()
    again = cache.claim("prefix")
    assert again
    again.close()


def test_copies_are_independent_but_for_large_programs(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "below").mkdir(parents=True)
    (source / "below" / "text.py").write_text("original")
    (source / "big.DLL").write_bytes(b"x" * (LINKED_FROM + 1))
    (source / "small.dll").write_bytes(b"x")
    (source / "link").symlink_to("big.DLL")
    copy_tree(source, target)
    (target / "below" / "text.py").write_text("changed")
    replace_file(target / "big.DLL", b"changed")
    assert (source / "below" / "text.py").read_text() == "original"
    assert (source / "big.DLL").stat().st_size == LINKED_FROM + 1
    assert (target / "small.dll").stat().st_nlink == 1
    assert (target / "link").readlink() == Path("big.DLL")


def test_fingerprint_does_not_run_parts_together() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


def test_root_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITONWIN_LANE_ROOT", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("TRITONWIN_LANE_ROOT")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert default_root() == Path("/c/tritonwin/winlane")
