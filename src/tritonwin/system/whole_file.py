"""Write a file that somebody named: whole, or what was there before stays as it was."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the file first, then give that its name; a link goes on to lead where it led.

    What is no regular file, such as a device or a pipe, is written to as it is.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    place = Path(os.path.realpath(path))
    mode = _mode(place)
    if mode is not None and not stat.S_ISREG(mode):
        place.write_bytes(data)
        return
    aside = place.with_name(f".tritonwin-{secrets.token_hex(6)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
        if mode is not None:
            aside.chmod(stat.S_IMODE(mode))
        aside.replace(place)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
