"""One Windows Python with its folders, as a test sees it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from winlane.cache import replace_file
from winlane.process import Options, Result
from winlane.windows_paths import Drives

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Starter(Protocol):
    """Starts Windows programs for an environment: a Lane, or a Machine with its variables."""

    @property
    def drives(self) -> Drives: ...

    def start(self, command: str, **options: Unpack[Options]) -> Result: ...


@dataclass(frozen=True)
class Environment:
    """`root` is the folder of all that was made, `home` the one of python.exe; both Linux paths.

    `base` is set for a venv: the environment whose standard library it uses.
    """

    version: str
    kind: str
    root: Path
    home: Path
    site_packages: Path
    starter: Starter
    base: Environment | None = None

    @property
    def python(self) -> str:
        return self.win(self.home / "python.exe")

    def win(self, path: Path) -> str:
        return self.starter.drives.windows(path)

    def path(self, windows_path: str) -> Path:
        return self.starter.drives.linux(windows_path)

    def run(self, *args: str, **options: Unpack[Options]) -> Result:
        """python.exe ARGS, started in `root` unless `cwd` says otherwise."""
        command = subprocess.list2cmdline([self.python, *args])
        options.setdefault("cwd", self.root)
        return self.starter.start(command, **options)

    def replace(self, path: str | Path, data: bytes) -> None:
        """Write a file. Large programs and libraries are links into the cache: never open them."""
        replace_file(self._inside(path), data)

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _inside(self, path: str | Path) -> Path:
        """Relative paths count from `home`, strings with a drive are Windows paths."""
        if isinstance(path, str) and path[1:2] == ":":
            return self.path(path)
        return self.home / path
