"""Reading a disk that may hold anything, where nothing raises; and writing a file whole."""

from __future__ import annotations

import codecs
import os
import re
import secrets
import stat
from pathlib import Path

_TEXT_LIMIT = 4 * 1024 * 1024


def is_file(path: Path) -> bool:
    """True for a regular file. `Path.is_file` raises where access is denied."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def file_size(path: Path) -> int | None:
    """Bytes of a file; None where it cannot be asked."""
    try:
        return path.stat().st_size
    except OSError:
        return None


def paths_in(folder: Path, pattern: str) -> tuple[Path, ...]:
    """The paths below a folder that fit a pattern, sorted; empty where it cannot be searched."""
    try:
        return tuple(sorted(folder.glob(pattern)))
    except OSError:
        return ()


def first_file(folder: Path, parts: tuple[str, ...]) -> Path | None:
    """The first of the relative paths that is a file below `folder`."""
    return next((p for part in parts if is_file(p := folder / part)), None)


def names_in(folder: Path) -> tuple[str, ...]:
    """The names in a folder, sorted; empty where it cannot be listed."""
    try:
        return tuple(sorted(entry.name for entry in folder.iterdir()))
    except (OSError, ValueError):
        return ()


def read_bytes(path: Path, limit: int = _TEXT_LIMIT) -> bytes | None:
    """The content of a regular file of at most `limit` bytes, else None."""
    try:
        status = path.stat()
        # a named pipe would keep us waiting
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with path.open("rb") as stream:
            return stream.read(status.st_size)
    except (OSError, ValueError):
        return None


def encoding_of(content: bytes) -> str:
    """The encoding of a file from a user: PowerShell's `>` writes UTF-16 with a mark."""
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if utf16 else "utf-8-sig"


def read_text(path: Path) -> str | None:
    """The content as text, undecodable bytes replaced; None where it cannot be read."""
    content = read_bytes(path)
    return None if content is None else content.decode("utf-8-sig", "replace")


def as_text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def long_path(path: Path) -> Path:
    r"""The path with Windows' limit of 260 characters off, `\\?\...`; elsewhere as it is."""
    text = str(path.absolute())
    return Path(f"\\\\?\\{text}") if os.name == "nt" and not text.startswith("\\\\") else path


def version_key(name: str) -> tuple[int, ...]:
    """Order for version folders: the numbers of the name, so that v12.10 follows v12.9."""
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", name))


def same_place(path: Path) -> str:
    """A key under which two spellings of one path meet, as far as names alone can tell."""
    return os.path.normcase(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole, or leave what was there: a new file beside it takes its name.

    A link still points where it did. A device or a pipe is written to directly.

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
