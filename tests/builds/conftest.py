"""Builds run on Linux with gcc; what they need from the network is fetched once into a cache."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

FITS = sys.platform == "linux" and all(Path(f"/usr/bin/{n}").exists() for n in ("gcc", "g++", "ar"))
collect_ignore_glob = [] if FITS else ["test_*.py"]

if FITS:
    from standin_torch import pass_for_cuda
    from world import TOOLS, World, cached_target

    @pytest.fixture(scope="session")
    def target() -> Path:
        """A Python with what builds an extension, and without torch."""
        return cached_target("plain", *TOOLS)

    @pytest.fixture(scope="session")
    def torch_target() -> Path:
        """A Python with torch that has CUDA, or passes for one that has: standin_torch.py."""
        return cached_target(
            "torch", "torch==2.13.0", "numpy", "einops", *TOOLS, finish=pass_for_cuda
        )

    @pytest.fixture
    def world(tmp_path: Path, target: Path) -> World:
        made = World(tmp_path, target)
        made.write()
        return made
