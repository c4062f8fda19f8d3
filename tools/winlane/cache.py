"""A folder of finished products: built once, aside and under a lock, then renamed into place.

A product's name carries a fingerprint of everything it was made from, so nothing is ever refreshed
in place: a change makes a new product, and an interrupted build leaves nothing that looks finished.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from winlane.errors import LaneError

ROOT_VARIABLE = "TRITONWIN_LANE_ROOT"
# Large programs and libraries are linked, all else is copied: tests break environments, and they
# do so by editing text. What is linked must be replaced through `replace_file`, never in place.
LINKED_SUFFIXES = frozenset({".pyd", ".dll", ".exe", ".lib", ".zip", ".bc"})
LINKED_FROM = 256 * 1024
# Python itself never writes into one of these, it renames a new one over it
ALWAYS_LINKED_SUFFIX = ".pyc"

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# tritonwin's Windows lane; safe to delete.\n"


def fingerprint(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:12]


def say(text: str) -> None:
    print(f"winlane: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Cache:
    root: Path

    @classmethod
    def open(cls, root: Path | None = None) -> Cache:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "tritonwin" / "winlane"
        cache = cls((root or Path(os.environ.get(ROOT_VARIABLE) or base)).expanduser().absolute())
        for name in ("locks", "building"):
            (cache.root / name).mkdir(parents=True, exist_ok=True)
        tag = cache.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG)
        return cache

    def product(self, name: str, builder: Callable[[Path], None], announce: str = "") -> Path:
        """The finished product `name`; `builder` fills a new folder when it is not there yet."""
        place = self.root / name
        if place.exists():
            return place
        flat = name.replace("/", "-")
        with self._locked(flat):
            if place.exists():
                return place
            if announce:
                say(announce)
            aside = self.root / "building" / flat
            # the lock is ours, so whatever lies there was left by an interrupted build
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            builder(aside)
            place.parent.mkdir(parents=True, exist_ok=True)
            aside.rename(place)
        return place

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with self._lock_path(name).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def claim(self, name: str) -> IO[str] | None:
        """Hold `name` until the file is closed or this process dies; None while another has it."""
        lock = self._lock_path(name).open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock

    def _lock_path(self, name: str) -> Path:
        return self.root / "locks" / f"{name}.lock"


def copy_tree(source: Path, target: Path) -> None:
    """Copy into `target` (merging), linking large programs and libraries."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            there = target / entry.name
            if entry.is_symlink():
                there.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                copy_tree(Path(entry.path), there)
            else:
                _copy_file(entry, there)


def _copy_file(entry: os.DirEntry[str], there: Path) -> None:
    status = entry.stat()
    suffix = there.suffix.lower()
    large = suffix in LINKED_SUFFIXES and status.st_size > LINKED_FROM
    if large or suffix == ALWAYS_LINKED_SUFFIX:
        os.link(entry.path, there)
    else:
        shutil.copyfile(entry.path, there)
        # compiled files stay valid only if their source keeps its time
        os.utime(there, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_file(path: Path, data: bytes) -> None:
    """Give `path` a content of its own, whatever it is linked to."""
    if path.is_dir():
        raise LaneError(f"{path} is a folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(data)
