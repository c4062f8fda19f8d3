"""Folders with made-up files, for tests of what reads the disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


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
