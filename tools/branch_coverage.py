"""Branch coverage of the areas in branch_coverage.toml.

    python tools/branch_coverage.py REPORT

REPORT is what `coverage json` writes. Prints the table of the areas, below it every module that has
a branch no test took, with those branches as "line->next line"; exits with 1 where an area is below
its bound.
`test --full` of tools/dev.py ends with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings tomli there
    import tomli as tomllib

AREAS = Path(__file__).with_suffix(".toml")
ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "tritonwin"


@dataclass(frozen=True, kw_only=True)
class Module:
    """Branches of one file; a `missing` one is a pair of lines, negative for the way out."""

    file: str
    branches: int
    missing: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Area:
    name: str
    modules: tuple[Module, ...]

    @property
    def branches(self) -> int:
        return sum(module.branches for module in self.modules)

    @property
    def taken(self) -> int:
        return self.branches - sum(len(module.missing) for module in self.modules)

    @property
    def percent(self) -> float:
        return 100 * self.taken / self.branches


def measured(report: dict[str, Any]) -> dict[str, Module]:
    """The modules of a report of coverage's JSON format, by path from the package on."""
    modules = {}
    for path, entry in report["files"].items():
        file = path.replace("\\", "/").partition("src/tritonwin/")[2]
        modules[file] = Module(
            file=file,
            branches=entry["summary"]["num_branches"],
            missing=tuple((start, end) for start, end in entry["missing_branches"]),
        )
    return modules


def areas(
    patterns: dict[str, Sequence[str]], modules: dict[str, Module], package: Path
) -> Iterator[Area]:
    """The areas with their modules; SystemExit where nothing matches or a file is unmeasured."""
    for name, globs in patterns.items():
        files: set[str] = set()
        for pattern in globs:
            found = {path.relative_to(package).as_posix() for path in package.glob(pattern)}
            if not found:
                sys.exit(f"{AREAS.name}: no file matches {pattern} of {name}")
            files |= found
        unmeasured = sorted(files - modules.keys())
        if unmeasured:
            sys.exit(f"{name}: not in the report: {', '.join(unmeasured)}")
        yield Area(name=name, modules=tuple(modules[file] for file in sorted(files)))


def table(found: Sequence[Area]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| area | modules | branches | taken by a test | share |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for area in found:
        cells = (area.name, len(area.modules), area.branches, area.taken, f"{area.percent:.1f} %")
        yield f"| {' | '.join(map(str, cells))} |"


def gaps(area: Area) -> Iterator[str]:
    for module in area.modules:
        if module.missing:
            lines = ", ".join(f"{a}->{'exit' if b < 0 else b}" for a, b in sorted(module.missing))
            yield f"{module.file}: {lines}"


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1:
        print(__doc__)
        return 2
    settings = tomllib.loads(AREAS.read_text("utf-8"))
    report = json.loads(Path(argv[0]).read_text("utf-8"))
    found = list(areas(settings["area"], measured(report), PACKAGE))
    print("\n".join(table(found)))
    for area in found:
        print(f"\n{area.name}: branches that no test took")
        print("\n".join(f"  {line}" for line in gaps(area)))
    low = [area for area in found if area.percent < settings["at_least"]]
    for area in low:
        print(f"FAILED: tests take {area.percent:.1f} % of the branches of {area.name}; "
              f"{settings['at_least']} % are asked for")  # fmt: skip
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
