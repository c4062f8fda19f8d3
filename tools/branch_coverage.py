"""Branch coverage of the areas in areas.toml, which tools/mutate.py changes as well.

    python tools/branch_coverage.py FOLDER

FOLDER holds the data files of coverage, which are put together in coverage.json. Prints for each
area its share and every branch that no test took, as "line->next line"; the exit status is 1 where
one is below the bound. `test --full` of tools/dev.py ends with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:  # pytest brings tomli there
    import tomli as tomllib

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "tritonwin"
_TABLE = tomllib.loads(Path(__file__).with_name("areas.toml").read_text("utf-8"))
_PATCH = "src/tritonwin/patch"
_HOOK = "_tritonwin_hook.py"
_CARRIED = "_tritonwin_patch/"


@dataclass(frozen=True, kw_only=True)
class Area:
    """Patterns of code below src/tritonwin, and of the tests below tests that cover it."""

    about: str
    code: tuple[str, ...]
    tests: tuple[str, ...] = ()
    but: str = ""  # an expression for pytest
    apart: tuple[str, ...] = ()  # files that are not mutated

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


def original(file: str) -> str | None:
    """The module that a measured file is a copy of; None if it is not a copy."""
    path = file.replace("\\", "/")
    if f"/{path}".endswith(f"/{_HOOK}"):
        return f"{_PATCH}/hook/runtime.py"
    _, carried, module = path.rpartition(_CARRIED)
    return f"{_PATCH}/{module}" if carried else None


def combined(folder: Path) -> dict[str, Any]:
    """The report on all data files of a folder, by file.

    The import hook of `patch` is a copy of hook/runtime.py that carries copies of the rules, with
    the lines of their originals; tests start it in Pythons of its own.
    """
    from coverage import Coverage, CoverageData
    from coverage.exceptions import DataError

    for data in sorted(folder.glob(".coverage*")):
        seen = CoverageData(basename=str(data))
        try:
            seen.read()
        except DataError:  # tests kill programs, some while they write it
            print(f"left out, damaged: {data.name}")
            data.unlink()
            continue
        arcs: dict[str, set[tuple[int, int]]] = {}
        for file in seen.measured_files():
            if module := original(file):
                arcs.setdefault(module, set()).update(seen.arcs(file) or ())
        copies = CoverageData(basename=f"{data}.copies")
        copies.add_arcs(arcs)
        copies.write()
    measured = Coverage(data_file=str(folder / ".coverage"))
    measured.combine([str(folder)])
    report = folder / "coverage.json"
    measured.json_report(include=["src/tritonwin/*"], outfile=str(report))
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))["files"]
    return found


def judge(areas: Mapping[str, Area], files: Mapping[str, Any], package: Path = PACKAGE) -> int:
    """Print the areas; the exit status. SystemExit where a module was not measured."""
    measured = {f.replace("\\", "/").partition("src/tritonwin/")[2]: e for f, e in files.items()}
    below = 0
    for name, area in areas.items():
        modules = area.files(package)
        if unmeasured := sorted(modules - measured.keys()):
            sys.exit(f"{name}: not in the report: {', '.join(unmeasured)}")
        missing = {file: measured[file]["missing_branches"] for file in sorted(modules)}
        branches = sum(measured[file]["summary"]["num_branches"] for file in modules)
        taken = branches - sum(map(len, missing.values()))
        share = 100 * taken / branches
        below |= share < AT_LEAST
        asked = f"; FAILED: {AT_LEAST:g} % are asked for" * (share < AT_LEAST)
        print(f"{name}: {taken} of {branches} branches, {share:.1f} %{asked}")
        for file, lines in missing.items():
            for start, end in sorted(lines):  # a negative line is the way out
                print(f"    {file}: {start}->{'exit' if end < 0 else end}")
    return int(below)


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1:
        print(__doc__)
        return 2
    return judge(AREAS, combined(Path(argv[0])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
