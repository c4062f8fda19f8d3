"""Folders for temporary files: gone afterwards, and swept up later where a process was killed.

In each lies a file that its process holds. One that nobody holds belongs to a process that is dead,
whatever its number may stand for by now.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tritonwin.system.access import hold
from tritonwin.system.files import is_folder, names_in

PREFIX = "tw"  # short: paths in it count against Windows' limit
MARK = "tritonwin.held"


@contextmanager
def scratch_folder(place: Path | None = None) -> Iterator[Path]:
    """An empty folder of our own, for the block.

    The first one in a process takes those away that dead processes left in the same place. What
    cannot be deleted yet, since a program that was started there has it open, is left for that too.

    Args:
        place: the folder to make it in; None: where the system has its temporary files.

    Raises:
        OSError: there is no place for temporary files.
    """
    place = place or Path(tempfile.gettempdir())
    sweep(place)
    folder, held = _new(place)
    try:
        yield folder
    finally:
        _empty(folder)
        _let_go(folder, held)


def _new(place: Path) -> tuple[Path, int]:
    """A folder and its held mark. One whose mark another process swept up first is left to it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        with contextlib.suppress(FileNotFoundError):
            held = hold(folder / MARK)
            if held is not None:
                return folder, held


@cache
def sweep(place: Path) -> None:
    """Delete the folders in `place` that processes of this user left which are dead; once."""
    for name in names_in(place):
        folder = place / name
        if not (name.startswith(PREFIX) and _is_ours(folder)):
            continue
        with contextlib.suppress(OSError):
            held = hold(folder / MARK)
            if held is not None:
                _empty(folder)
                _let_go(folder, held)


def _is_ours(folder: Path) -> bool:
    """True for a real folder of this user with a mark in it. Others can make links."""
    with contextlib.suppress(OSError):
        found, mark = folder.lstat(), (folder / MARK).lstat()
        mine = sys.platform == "win32" or found.st_uid == os.getuid()
        return stat.S_ISDIR(found.st_mode) and stat.S_ISREG(mark.st_mode) and mine
    return False


def _empty(folder: Path) -> None:
    """Delete everything but the mark, which stands for all that is left."""
    for name in names_in(folder):
        if name != MARK:
            _delete(folder / name)


def _delete(path: Path) -> None:
    if path.is_symlink() or not is_folder(path):
        with contextlib.suppress(OSError):
            path.unlink()
        return
    shutil.rmtree(path, ignore_errors=True)
    if is_folder(path):  # git and others write-protect what they write
        for at, folders, files in os.walk(path):
            for inside in (Path(at, name) for name in (".", *folders, *files)):
                if not inside.is_symlink():
                    with contextlib.suppress(OSError):
                        inside.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)


def _let_go(folder: Path, held: int) -> None:
    """The mark goes last: while something is left, the folder can be found again by it."""
    windows = sys.platform == "win32"
    if windows:
        os.close(held)  # nothing that is open can be deleted
    if names_in(folder) in {(), (MARK,)}:
        with contextlib.suppress(OSError):
            (folder / MARK).unlink(missing_ok=True)
            folder.rmdir()
    if not windows:
        os.close(held)  # not before: nobody else may take the mark for that of a dead process
