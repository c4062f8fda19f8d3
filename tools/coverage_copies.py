"""Let what a copy of a module did in a target count as the module's own: `coverage_copies.py DIR`.

The import hook of `patch` is a copy of hook/runtime.py that carries copies of the rules, and tests
start it in Pythons of its own. The copies have the lines of their originals. For each data file of
coverage in DIR that saw one, another is written beside it with the originals' names, for
`coverage combine` to add.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from coverage import CoverageData

_PATCH = "src/tritonwin/patch"
_HOOK = "_tritonwin_hook.py"
_CARRIED = "_tritonwin_patch/"


def original(file: str) -> str | None:
    """The module that a measured file is a copy of, from the checkout on; None: it is none."""
    path = file.replace("\\", "/")
    if f"/{path}".endswith(f"/{_HOOK}"):
        return f"{_PATCH}/hook/runtime.py"
    _, carried, module = path.rpartition(_CARRIED)
    return f"{_PATCH}/{module}" if carried else None


def count_copies(data: Path) -> None:
    """Write what copies did, as the originals' doing, beside a data file."""
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
    if len(argv) != 1:
        print(__doc__)
        return 2
    for data in sorted(Path(argv[0]).glob(".coverage*")):
        count_copies(data)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
