"""The contents of the single file as a folder: laid out at the first start, mended when damaged."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
import time
import zipfile
from pathlib import Path

_HOUR = 3600
_MONTH = 30 * 24 * _HOUR
_COPY = re.compile("[0-9a-f]{20}")  # as build_pyz.identity names a build


def lay_out(contents: bytes, folder: Path) -> None:
    """Unpack the archive `contents` as `folder`, which nobody else may read or write.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    earlier = os.umask(0o077)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _discard_unfinished(folder.parent)
        _discard_unused(folder.parent)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        try:
            zipfile.ZipFile(io.BytesIO(contents)).extractall(made / "app")
            (made / "app").rename(folder)  # at once: nobody sees half of it
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError:
        if not folder.is_dir():  # else another one was faster
            raise
    finally:
        os.umask(earlier)


def _discard_unfinished(parent: Path) -> None:
    """Delete what starts that were killed left, and not what another one is making now."""
    for left in (*parent.glob(".new-*"), *parent.glob(".old-*")):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _HOUR:
                shutil.rmtree(left, ignore_errors=True)


def _discard_unused(parent: Path) -> None:
    """Delete the copies that were not used for a month.

    One that is to go loses its name first, so that nobody starts from the rest of it.
    """
    for copy in parent.iterdir():
        used = copy / "USED"
        with contextlib.suppress(OSError):
            last = (used if used.exists() else copy).stat().st_mtime
            if _COPY.fullmatch(copy.name) and last < time.time() - _MONTH:
                gone = copy.rename(copy.with_name(f".old-{copy.name}"))
                shutil.rmtree(gone, ignore_errors=True)


def mend(contents: bytes, folder: Path) -> tuple[bool, bool]:
    """Make `folder` again what `contents` hold; whether it was not, and whether it is now.

    File by file, so that another process that runs from the folder goes on. Compiled modules are
    dropped unseen: Python compiles again what is missing.
    """
    damaged, mended = False, True
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        for name in archive.namelist():
            file, content = folder / name, archive.read(name)
            try:
                if file.is_file() and file.read_bytes() == content:
                    continue
                damaged = True
                file.parent.mkdir(parents=True, exist_ok=True)
                new = file.with_name(file.name + ".new")
                new.write_bytes(content)
                new.replace(file)
            except OSError:
                mended = False
    for compiled in folder.rglob("__pycache__"):
        shutil.rmtree(compiled, ignore_errors=True)
    return damaged, mended
