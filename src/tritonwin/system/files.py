"""Reading a disk that may hold anything, where nothing raises; and writing a file whole."""

from __future__ import annotations

import codecs
import math
import os
import re
import secrets
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tritonwin.errors import UserError

_TEXT_LIMIT = 4 * 1024 * 1024

T = TypeVar("T")

# A drive whose server is gone may answer after minutes, or never. Who waits for the asking thread
# (`waiting.answered`) sees here what it asks for, since when, and may give the place up.
_asked: dict[int, tuple[float, Path]] = {}
_silent: set[str] = set()


def ask(question: Callable[[Path], T], path: Path, otherwise: T) -> T:
    """The answer of the disk; `otherwise` where it cannot be asked, or was given up."""
    if _silent and _is_silent(path):
        return otherwise
    thread = threading.get_ident()
    _asked[thread] = (time.monotonic(), path)
    try:
        return question(path)
    except (OSError, ValueError):
        return otherwise
    finally:
        _asked.pop(thread, None)


def _is_silent(path: Path) -> bool:
    text = os.path.normcase(path)
    return any(text == place or text.startswith(place.rstrip(os.sep) + os.sep) for place in _silent)


def silent_places() -> tuple[str, ...]:
    """The drives, shares and folders that did not answer; all on them counts as not there."""
    return tuple(sorted(_silent))


def give_up_asking(thread: int, patience: float) -> bool:
    """Give up the place that a thread has asked for `patience` seconds; False where it has not.

    That is the whole drive or share; of the system's own drive only the path.
    """
    since, path = _asked.get(thread, (math.inf, Path()))
    if time.monotonic() - since < patience:
        return False
    drive = os.path.splitdrive(os.path.normcase(path))[0]
    system = os.path.normcase(os.environ.get("SystemDrive", ""))
    _silent.add(drive if drive and drive != system else os.path.normcase(path))
    return True


def is_file(path: Path) -> bool:
    """True for a regular file. `Path.is_file` raises where access is denied."""
    return ask(Path.is_file, path, False)


def is_folder(path: Path) -> bool:
    return ask(Path.is_dir, path, False)


def file_size(path: Path) -> int | None:
    """Bytes of a file; None where it cannot be asked."""
    return ask(lambda asked: asked.stat().st_size, path, None)


def paths_in(folder: Path, pattern: str) -> tuple[Path, ...]:
    """The paths below a folder that fit a pattern, sorted; empty where it cannot be searched."""
    return ask(lambda asked: tuple(sorted(asked.glob(pattern))), folder, ())


def first_file(folder: Path, parts: tuple[str, ...]) -> Path | None:
    """The first of the relative paths that is a file below `folder`."""
    return next((p for part in parts if is_file(p := folder / part)), None)


def names_in(folder: Path) -> tuple[str, ...]:
    """The names in a folder, sorted; empty where it cannot be listed."""
    return ask(lambda asked: tuple(sorted(os.listdir(asked))), folder, ())  # noqa: PTH208


def read_bytes(path: Path, limit: int = _TEXT_LIMIT) -> bytes | None:
    """The content of a regular file of at most `limit` bytes, else None."""

    def content(path: Path) -> bytes | None:
        status = path.stat()
        # a named pipe would keep us waiting
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with path.open("rb") as stream:
            return stream.read(status.st_size)

    return ask(content, path, None)


def starts_with(path: Path, mark: bytes) -> bool:
    """True for a file that begins with these bytes."""

    def begins(path: Path) -> bool:
        with path.open("rb") as stream:
            return stream.read(len(mark)) == mark

    return is_file(path) and ask(begins, path, False)


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
    mode = place.stat().st_mode if place.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        place.write_bytes(data)
        return
    replace_whole(place, data, mode)


def replace_whole(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file of tritonwin's own whole; a link, a pipe or a device there is replaced.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    aside = path.with_name(f".tritonwin-{secrets.token_hex(6)}.tmp")
    try:
        with aside.open("xb") as file:
            file.write(data)
        if mode is not None:
            aside.chmod(stat.S_IMODE(mode))
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def refuse_foreign(path: Path, mark: str) -> None:
    """Refuse a place where nothing can be written, or where a file lies that lacks the mark.

    Raises:
        UserError: a folder, a place in no folder, or a file of others.
    """
    try:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise UserError(
                f"{path} cannot be written: there is no such folder, or it is one itself",
                "Give the name of a file in a folder that is there.",
            )
        theirs = path.exists() and path.stat().st_size and mark not in (read_text(path) or "")
    except OSError as error:
        raise _not_written(path, error) from None
    if theirs:
        raise UserError(
            f"{path} exists and was not written by this command, so it is left as it is",
            "Choose another name, or delete the file first.",
        )


def write_text(path: Path, text: str) -> None:
    """Write a text whole, as `write_whole` does.

    Raises:
        UserError: it cannot be written.
    """
    try:
        write_whole(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise _not_written(path, error) from None


def _not_written(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot write {path}: {error.strerror or error}", "Choose another place.")
