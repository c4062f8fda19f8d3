"""Folders with made-up files for tests of what reads the disk, and whole folders compared."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Mapping
from pathlib import Path

from tritonwin.journal.tree import entries_of, file_hash, is_folder, pointer


def plant(root: Path, *files: str) -> Path:
    """Make the files below `root`, each with a byte in it, and return `root`."""
    return write(root, dict.fromkeys(files, "x"))


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Make the files below `root` with the contents given, and return `root`."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return root


def tree_hash(root: Path) -> str:
    """SHA-256 over what is at `root` and below it, hexadecimal; times do not count.

    Links are not followed. An absent root has a hash too.
    """
    digest = hashlib.sha256()
    for line in describe_tree(root):
        digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def describe_tree(root: Path) -> list[str]:
    """The lines that `tree_hash` hashes, sorted: "file rw FOLDER/NAME SHA256"."""
    lines: list[str] = []
    for name, status in entries_of(root).items():
        path = root / name
        if is_folder(status):
            lines.append(f"folder {name}")
        elif not stat.S_ISREG(status.st_mode):
            what, _, where = pointer(path, status).partition(" ")
            lines.append(f"{what} {name} {where}")
        else:
            access = "rw" if status.st_mode & stat.S_IWUSR else "ro"
            lines.append(f"file {access} {name} {file_hash(path)}")
    return sorted(lines)
