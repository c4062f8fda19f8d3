"""Build in a process of its own, which a test may end as it likes.

driver.py WORLD.json [--resume]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "src"), str(HERE.parent), str(HERE)]

from world import World  # noqa: E402

from tritonwin.build import runner  # noqa: E402


def main(argv: list[str]) -> int:
    known = json.loads(Path(argv[0]).read_text())
    world = World(Path(known["folder"]), Path(known["target"]))
    plan = runner.read_plan(world.folder / "root/plan.json")
    try:
        built = runner.build(plan, world.context(), resume="--resume" in argv)
    except KeyboardInterrupt:
        return 130
    return 0 if built.wheel else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
