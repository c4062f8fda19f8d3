"""Folders for temporary files: gone afterwards, and swept up later where a process was killed."""

from __future__ import annotations

import contextlib
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tritonwin.system.files import names_in

if sys.platform != "win32":
    import os

PREFIX = "tw"  # short: paths in it count against Windows' limit
MARK = "tritonwin.temporary"
_OLD = 3 * 86_400  # seconds after which no process works in its folder any more


@contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """An empty folder of our own, but for its mark, for the block.

    The first one in a process takes those away that others left in the same place days ago: of a
    process that was killed, or of which a program still had something open.

    Args:
        place: the folder to make it in; None: where the system has its temporary files.

    Raises:
        OSError: there is no place for temporary files.
    """
    place = place or Path(tempfile.gettempdir())
    sweep(place)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=place, ignore_cleanup_errors=True) as made:
        (Path(made) / MARK).touch()
        yield Path(made)


@cache
def sweep(place: Path) -> None:
    """Delete the folders in `place` that processes of this user left days ago; once."""
    for name in names_in(place):
        if name.startswith(PREFIX) and _is_left(place / name):
            shutil.rmtree(place / name, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    """True for a real folder of this user with an old mark in it. Others can make links."""
    with contextlib.suppress(OSError):
        found, mark = folder.lstat(), (folder / MARK).lstat()
        mine = sys.platform == "win32" or found.st_uid == os.getuid()
        old = time.time() - mark.st_mtime > _OLD
        return stat.S_ISDIR(found.st_mode) and stat.S_ISREG(mark.st_mode) and mine and old
    return False
