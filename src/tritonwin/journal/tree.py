"""One hash for everything in a folder: names, contents, links, and whether a file is read-only."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

_CHUNK = 1 << 20


def file_hash(path: Path) -> str:
    """SHA-256 of a file's content, hexadecimal. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def tree_hash(root: Path) -> str:
    """SHA-256 over what is at `root` and below it, hexadecimal; times do not count.

    Links are not followed. An absent root has a hash too. Raises OSError.
    """
    digest = hashlib.sha256()
    for line in describe_tree(root):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def describe_tree(root: Path) -> list[str]:
    """What `tree_hash` hashes, sorted: "file rw FOLDER/NAME SHA256". Shows where two differ."""
    lines: list[str] = []
    waiting = [root] if os.path.lexists(root) else []
    while waiting:
        path = waiting.pop()
        name = path.relative_to(root).as_posix()
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            lines.append(f"link {name} {path.readlink()}")
        elif stat.S_ISDIR(status.st_mode):
            lines.append(f"folder {name}")
            waiting += path.iterdir()
        else:
            access = "rw" if status.st_mode & stat.S_IWUSR else "ro"
            lines.append(f"file {access} {name} {file_hash(path)}")
    return sorted(lines)
