"""The lane: everything set up, one prefix claimed, environments on request."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from winlane import prefix, wine
from winlane.cache import Cache
from winlane.environment import Environment, Starter
from winlane.errors import LaneError
from winlane.headers import find_uv
from winlane.kinds import Builder
from winlane.packages import Packages
from winlane.process import Options, Result, Session, home_variables, merged
from winlane.resources import BASE_VARIABLES, TOOL_PACKAGES, TOOL_PYTHON
from winlane.windows_paths import Drives

if TYPE_CHECKING:
    from typing_extensions import Unpack

CHECKOUT = Path(__file__).resolve().parents[2]
# A folder in which each run of tritonwin leaves a data file `.coverage.*`. They hold Windows paths;
# [tool.coverage.paths] in pyproject.toml joins them with those of Linux.
COVERAGE_VARIABLE = "TRITONWIN_LANE_COVERAGE"


@dataclass
class Lane:
    cache: Cache
    wine: wine.Wine
    prefix: prefix.Prefix
    drives: Drives
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1), repr=False)

    @classmethod
    def ready(cls, root: Path | None = None) -> Lane:
        """Set up what is missing and claim a prefix; LaneUnavailable says why it cannot be."""
        cache = Cache.open(root)
        tree = wine.provide(cache)
        find_uv()
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        claimed = prefix.claim(cache, tree, worker)
        lane = cls(cache, tree, claimed, Drives(claimed.drive_c))
        # what an earlier, killed session left
        shutil.rmtree(claimed.drive_c / "lane" / "env", ignore_errors=True)
        return lane

    def close(self) -> None:
        """Stop this prefix's Wine and give the prefix back."""
        self.prefix.close()

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, *ending: object) -> None:
        self.close()

    def environment(
        self,
        version: str,
        kind: str = "full",
        packages: Sequence[str] = (),
        where: str | None = None,
        starter: Starter | None = None,
    ) -> Environment:
        """A new environment of its own files; `where` names its folder on Windows."""
        chosen = where or rf"C:\lane\env\{next(self._numbers)}"
        root = self.drives.linux(chosen)
        if root.exists() and any(root.iterdir()):
            raise LaneError(f"{chosen} is not empty")
        root.mkdir(parents=True, exist_ok=True)
        return Builder(self.cache, self.wine, starter or self).build(version, kind, packages, root)

    def start(self, command: str, **options: Unpack[Options]) -> Result:
        """Run a Windows command line in the bare Windows session, `env` laid over it."""
        variables = merged(BASE_VARIABLES, home_variables(self.profile, self.user))
        return Session(self.wine, self.prefix.path, self.drives, variables).run(command, options)

    @property
    def user(self) -> str:
        """Wine names its Windows user after the Linux one."""
        return pwd.getpwuid(os.getuid()).pw_name

    @property
    def profile(self) -> str:
        return rf"C:\users\{self.user}"

    @property
    def template_drive(self) -> Path:
        """C: as it was made, to restore from."""
        return prefix.provide_template(self.cache, self.wine) / "drive_c"

    @cached_property
    def tool(self) -> Environment:
        """The Python that tritonwin itself runs in."""
        root = self.drives.linux(r"C:\lane\env\tool")
        root.mkdir(parents=True)
        return Builder(self.cache, self.wine, self).build(TOOL_PYTHON, "tool", TOOL_PACKAGES, root)

    def wheels(self, version: str, requirements: Sequence[str]) -> str:
        """The Windows path of a folder with the wheel files of these requirements."""
        return self.drives.windows(Packages(self.cache).wheels(version, requirements))

    def command(
        self, args: Sequence[str] = (), module: str = "tritonwin"
    ) -> tuple[list[str], dict[str, str]]:
        """The words that run the checkout's sources in `tool`, and the variables they need."""
        tool = self.tool
        pth = tool.site_packages / "tritonwin-checkout.pth"
        if not pth.exists():
            pth.write_text(self.drives.windows(CHECKOUT / "src") + "\n", encoding="utf-8")
        words = [tool.python, "-m", module, *args]
        if folder := os.environ.get(COVERAGE_VARIABLE):
            data = Path(folder).absolute()
            data.mkdir(parents=True, exist_ok=True)
            words[1:1] = [
                "-m", "coverage", "run", "--parallel-mode", "--branch", "--source", "tritonwin",
                f"--data-file={self.drives.windows(data / '.coverage')}",
            ]  # fmt: skip
        # compiled files belong beside the lane's Python, not into the checkout of a Linux machine
        return words, {"PYTHONPYCACHEPREFIX": tool.win(tool.root / "compiled")}
