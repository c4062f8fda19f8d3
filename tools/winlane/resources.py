"""The pinned versions of resources.toml, typed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonwin.system import toml

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Distribution:
    """One CPython for Windows: `version` is the minor ("3.12"), `full` what sys.version says."""

    version: str
    sdist: str
    full: str
    sha256: str

    @property
    def compact(self) -> str:
        return self.version.replace(".", "")


_DATA: dict[str, Any] = toml.loads((HERE / "resources.toml").read_text("utf-8"))
DEBIAN_PACKAGES: tuple[str, ...] = tuple(_DATA["debian"]["packages"])
BROWSERS: dict[str, tuple[str, ...]] = {n: tuple(p) for n, p in _DATA["browsers"].items()}
PYTHONS: dict[str, Distribution] = {
    version: Distribution(version, **entry) for version, entry in _DATA["python"].items()
}
WHEELS: dict[str, str] = dict(_DATA["wheels"])
TOOL_PYTHON: str = _DATA["tool"]["python"]
TOOL_PACKAGES: tuple[str, ...] = tuple(_DATA["tool"]["packages"])
TRITON_OF_TORCH: dict[str, str] = dict(_DATA["triton-of-torch"])
BASE_VARIABLES: dict[str, str] = dict(_DATA["variables"])
