"""Files of a source on their way to the build folder."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from tritonwin.errors import UserError
from tritonwin.system.files import long_path

_BLOCK = 64 * 1024


class SourceError(UserError):
    """The source cannot be had."""


def skipped(path: PurePosixPath, skip: Sequence[str]) -> bool:
    """Whether a path below the root is one of the folders, or in one of them."""
    return any(path == entry or entry in path.parents for entry in map(PurePosixPath, skip))


def write(content: IO[bytes], place: Path, *, executable: bool) -> None:
    """Write a file with the time of now: one from the future would be compiled in every run."""
    target = long_path(place)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as stream:
        shutil.copyfileobj(content, stream, _BLOCK)
    if executable and sys.platform != "win32":
        target.chmod(0o755)


def is_executable(path: Path) -> bool:
    return os.access(path, os.X_OK)
