"""Branch coverage of the areas in areas.toml.

    python tools/branch_coverage.py REPORT
    python tools/branch_coverage.py --copies FOLDER

`--copies` is run on the data files of coverage before they are combined. REPORT is what
`coverage json` writes. Prints the table of the areas, below it every module that has
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

from areas import AREAS, AT_LEAST, PACKAGE, Area


@dataclass(frozen=True, kw_only=True)
class Module:
    """Branches of one file; a `missing` one is a pair of lines, negative for the way out."""

    file: str
    branches: int
    missing: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measured modules of an area."""

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


def of_areas(
    areas: dict[str, Area], modules: dict[str, Module], package: Path
) -> Iterator[Measured]:
    """The areas with their modules; SystemExit if nothing matches or a file is unmeasured."""
    for name, area in areas.items():
        files = area.files(package)
        unmeasured = sorted(files - modules.keys())
        if unmeasured:
            sys.exit(f"{name}: not in the report: {', '.join(unmeasured)}")
        yield Measured(name=name, modules=tuple(modules[file] for file in sorted(files)))


def table(found: Sequence[Measured]) -> Iterator[str]:
    """A table in Markdown."""
    yield "| area | modules | branches | taken by a test | share |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for area in found:
        cells = (area.name, len(area.modules), area.branches, area.taken, f"{area.percent:.1f} %")
        yield f"| {' | '.join(map(str, cells))} |"


def gaps(area: Measured) -> Iterator[str]:
    for module in area.modules:
        if module.missing:
            lines = ", ".join(f"{a}->{'exit' if b < 0 else b}" for a, b in sorted(module.missing))
            yield f"{module.file}: {lines}"


_PATCH = "src/tritonwin/patch"
_HOOK = "_tritonwin_hook.py"
_CARRIED = "_tritonwin_patch/"


def original(file: str) -> str | None:
    """The module that a measured file is a copy of; None if it is not a copy."""
    path = file.replace("\\", "/")
    if f"/{path}".endswith(f"/{_HOOK}"):
        return f"{_PATCH}/hook/runtime.py"
    _, carried, module = path.rpartition(_CARRIED)
    return f"{_PATCH}/{module}" if carried else None


def count_copies(data: Path) -> None:
    """Write the coverage of copies, under the names of their originals, beside a data file.

    The import hook of `patch` is a copy of hook/runtime.py that carries copies of the rules, and
    tests start it in Pythons of its own. The copies have the lines of their originals.
    """
    from coverage import CoverageData

    seen = CoverageData(basename=str(data))
    seen.read()
    arcs: dict[str, set[tuple[int, int]]] = {}
    for file in seen.measured_files():
        if module := original(file):
            arcs.setdefault(module, set()).update(seen.arcs(file) or ())
    if arcs:
        counted = CoverageData(basename=f"{data}.copies")
        counted.add_arcs(arcs)
        counted.write()


def main(argv: Sequence[str]) -> int:
    if argv[:1] == ["--copies"] and len(argv) == 2:
        for data in sorted(Path(argv[1]).glob(".coverage*")):
            count_copies(data)
        return 0
    if len(argv) != 1:
        print(__doc__)
        return 2
    report = json.loads(Path(argv[0]).read_text("utf-8"))
    found = list(of_areas(AREAS, measured(report), PACKAGE))
    print("\n".join(table(found)))
    for area in found:
        print(f"\n{area.name}: branches that no test took")
        print("\n".join(f"  {line}" for line in gaps(area)))
    low = [area for area in found if area.percent < AT_LEAST]
    for area in low:
        print(
            f"FAILED: tests take {area.percent:.1f} % of the branches of {area.name}; "
            f"{AT_LEAST} % are asked for"
        )
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
