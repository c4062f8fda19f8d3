"""Where everything of a build lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The folders of a build, below its root."""

    root: Path

    @property
    def source(self) -> Path:
        return self.root / "s"

    @property
    def venv(self) -> Path:
        """The build environment."""
        return self.root / "v"

    @property
    def cuda(self) -> Path:
        """The prefix of an assembled toolkit: CUDA_HOME."""
        return self.root / "c"

    @property
    def temp(self) -> Path:
        """TEMP, TMP and TMPDIR of the compilers."""
        return self.root / "t"

    @property
    def dist(self) -> Path:
        return self.root / "dist"

    @property
    def log(self) -> Path:
        return self.root / "build.log"

    @property
    def plan(self) -> Path:
        """The stored plan, for `--resume`."""
        return self.root / "plan.json"
