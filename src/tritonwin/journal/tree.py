"""Hashes of files, and listings of folders that can be compared."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from tritonwin.system.files import long_path

_CHUNK = 1 << 20
# also while it is written, and what numba keeps there
_COMPILED = re.compile(r"\.(py[co](\.\d+)?|nb[ic])\Z")
_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def listing(root: Path) -> dict[str, str]:
    """Everything at `root` (which is ".") and below it: "folder", "file SIZE SHA256", "link END".

    Raises OSError.
    """
    return _described(root, lambda path, status: f"{status.st_size} {file_hash(path)}")


def stamps(root: Path) -> dict[str, str]:
    """The same by size, time and rights instead of contents, which a rename keeps."""
    return _described(
        root,
        lambda _, status: (
            f"{status.st_size} {status.st_mtime_ns} {bool(status.st_mode & stat.S_IWUSR)}"
        ),
    )


def _described(root: Path, file: Callable[[Path, os.stat_result], str]) -> dict[str, str]:
    root = long_path(root)  # what is laid out or kept may lie deeper than where it belongs
    return {
        name: f"file {file(root / name, status)}"
        if stat.S_ISREG(status.st_mode)
        else "folder"
        if is_folder(status)
        else pointer(root / name, status)
        for name, status in entries_of(root).items()
    }


def listing_text(found: Mapping[str, str]) -> str:
    """A listing as it is written down: JSON in ASCII, also of names that are no text."""
    return json.dumps(found, sort_keys=True)


def listing_hash(found: Mapping[str, str]) -> str:
    return hashlib.sha256(listing_text(found).encode("ascii")).hexdigest()


def entries_of(root: Path) -> dict[str, os.stat_result]:
    """Names with slashes from `root` on, and their status; links are not followed."""
    found: dict[str, os.stat_result] = {}
    waiting = [(".", str(root))] if os.path.lexists(root) else []
    while waiting:
        name, path = waiting.pop()
        try:
            # not the status of a folder's own entry, which Windows does not always renew
            status = os.lstat(path)
        except FileNotFoundError:  # a program took it away meanwhile
            continue
        found[name] = status
        if is_folder(status):
            start = "" if name == "." else f"{name}/"
            with os.scandir(path) as entries:
                waiting += [(start + entry.name, entry.path) for entry in entries]
    return found


def is_compiled(path: PurePath) -> bool:
    """True for what Python, or numba, puts into `__pycache__`; others put files there too."""
    return path.parent.name == "__pycache__" and _COMPILED.search(path.name) is not None


def pointer(path: Path, status: os.stat_result) -> str:
    """A link or junction with its end, or a device, pipe or socket."""
    points = stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return f"link {path.readlink()}" if points else "other"


def is_folder(status: os.stat_result) -> bool:
    """True for the status of a folder, not of a junction, which is a link to one."""
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION
