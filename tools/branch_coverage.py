"""Branch coverage of the areas in areas.toml.

    python tools/branch_coverage.py REPORT
    python tools/branch_coverage.py --copies FOLDER

`--copies` is run on the data files of coverage before they are combined. REPORT is what
`coverage json` writes. Prints the areas as a table, below it every branch that no test took as
"line->next line"; exits with 1 where an area is below its bound. `test --full` of tools/dev.py ends
with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from areas import AREAS, AT_LEAST, PACKAGE, Area

_PATCH = "src/tritonwin/patch"
_HOOK = "_tritonwin_hook.py"
_CARRIED = "_tritonwin_patch/"


def entries(name: str, area: Area, report: Mapping[str, Any], package: Path) -> dict[str, Any]:
    """The report's entries for the files of an area; SystemExit where one is missing."""
    measured = {
        path.replace("\\", "/").partition("src/tritonwin/")[2]: entry
        for path, entry in report["files"].items()
    }
    files = area.files(package)
    if unmeasured := sorted(files - measured.keys()):
        sys.exit(f"{name}: not in the report: {', '.join(unmeasured)}")
    return {file: measured[file] for file in sorted(files)}


def share(found: Mapping[str, Any]) -> tuple[int, int, float]:
    """The branches of files, those that a test took, and the percentage."""
    branches = sum(entry["summary"]["num_branches"] for entry in found.values())
    taken = branches - sum(len(entry["missing_branches"]) for entry in found.values())
    return branches, taken, 100 * taken / branches


def gaps(found: Mapping[str, Any]) -> Iterator[str]:
    """The branches that no test took, a line for each file; a negative line is the way out."""
    for file, entry in found.items():
        if missing := sorted(map(tuple, entry["missing_branches"])):
            lines = (f"{start}->{'exit' if end < 0 else end}" for start, end in missing)
            yield f"{file}: {', '.join(lines)}"


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
    found = {name: entries(name, area, report, PACKAGE) for name, area in AREAS.items()}
    print("| area | modules | branches | taken by a test | share |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, area in found.items():
        branches, taken, percent = share(area)
        print(f"| {name} | {len(area)} | {branches} | {taken} | {percent:.1f} % |")
    below = 0
    for name, area in found.items():
        print(f"\n{name}: branches that no test took", *gaps(area), sep="\n")
        if (percent := share(area)[2]) < AT_LEAST:
            below = 1
            print(
                f"FAILED: {percent:.1f} % of the branches of {name}; {AT_LEAST:g} % are asked for"
            )
    return below


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
