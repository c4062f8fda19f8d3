"""The areas of areas.toml: code that is measured or mutated together, and its tests."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings tomli there
    import tomli as tomllib

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "tritonwin"
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@dataclass(frozen=True, kw_only=True)
class Area:
    """Patterns of code below src/tritonwin, and of the tests below tests that cover it."""

    about: str
    code: tuple[str, ...]
    tests: tuple[str, ...] = ()
    but: str = ""  # an expression for pytest

    def files(self, package: Path = PACKAGE) -> set[str]:
        """The files of the code, from the package on; SystemExit if a pattern has none."""
        found: set[str] = set()
        for pattern in self.code:
            files = {path.relative_to(package).as_posix() for path in package.glob(pattern)}
            if not files:
                sys.exit(f"areas.toml: no file matches {pattern}")
            found |= files
        return found


AT_LEAST: float = _TABLE["at_least"]
AREAS = {name: Area(**area) for name, area in _TABLE["areas"].items()}
