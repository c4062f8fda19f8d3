"""tritonwin itself inside Windows: the command line that runs the checkout's sources there.

With TRITONWIN_LANE_COVERAGE set to a folder, each run leaves one data file `.coverage.*` in it.
They hold Windows paths, so they are combined on Linux with a path map in the configuration:

    [tool.coverage.paths]
    source = ["src/tritonwin", "*\\\\src\\\\tritonwin"]

    COVERAGE_FILE=FOLDER/.coverage coverage combine --keep FOLDER
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from winlane.process import Result

if TYPE_CHECKING:
    from winlane.lane import Lane

COVERAGE_VARIABLE = "TRITONWIN_LANE_COVERAGE"
CHECKOUT = Path(__file__).resolve().parents[2]


def tool_command(lane: Lane, args: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words of tritonwin's command line, and the variables it needs."""
    return module_command(lane, "tritonwin", args)


def module_command(
    lane: Lane, module: str, args: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    """The same for any module of the lane's own Windows Python."""
    tool = lane.tool
    pth = tool.site_packages / "tritonwin-checkout.pth"
    if not pth.exists():
        pth.write_text(lane.drives.windows(CHECKOUT / "src") + "\n", encoding="utf-8")
    # compiled files belong beside the lane's Python, not into the checkout of a Linux machine
    variables = {"PYTHONPYCACHEPREFIX": tool.win(tool.root / "compiled")}
    words = [tool.python, "-m", module, *args]
    folder = os.environ.get(COVERAGE_VARIABLE)
    if folder:
        data = Path(folder).absolute()
        data.mkdir(parents=True, exist_ok=True)
        words[1:1] = [
            "-m", "coverage", "run", "--parallel-mode", "--branch", "--source", "tritonwin",
            f"--data-file={lane.drives.windows(data / '.coverage')}",
        ]  # fmt: skip
    return words, variables


def run_module(lane: Lane, module: str, *args: str, timeout: float) -> Result:
    """Run a module in the lane's Windows Python, in the checkout."""
    words, variables = module_command(lane, module, args)
    return lane.start(subprocess.list2cmdline(words), cwd=CHECKOUT, env=variables, timeout=timeout)
