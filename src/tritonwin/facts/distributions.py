"""The distributions installed in the target, read from their metadata folders on disk."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from tritonwin.facts.files import is_file, is_folder, names_in, read_bytes, read_text
from tritonwin.facts.model import Distribution, Interpreter
from tritonwin.facts.packages import knowledge, normalise, search_path

_FOLDER = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]*)(?:-(?P<version>[^-]+))?(?:-py[\d.]+)?\.(?P<kind>dist|egg)-info"
)
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r";.*\bextra\b\s*==")  # wanted only by whoever asked for the extra
_RECORD_LIMIT = 1 << 26  # bytes; torch's has 1.5 million
_HASHED = {".py", ".c"}


def read_distributions(target: Interpreter) -> tuple[Distribution, ...]:
    """Every distribution on the target's path, those that Python finds first before others.

    A distribution that is there twice is given twice: pip removes the old one before it writes
    the new, so two of them mean that an installation was cut short or made by two tools.
    """
    return tuple(d for folder in search_path(target) for d in _in_folder(folder))


def _in_folder(folder: Path) -> Iterator[Distribution]:
    for name in names_in(folder):
        match = _FOLDER.fullmatch(name)
        if match:
            yield _read(folder, name, match)


def _read(folder: Path, entry: str, match: re.Match[str]) -> Distribution:
    location = folder / entry
    name = normalise(match["name"])
    headers = _headers(location, match["kind"])
    version = match["version"] or next(iter(_values(headers, "Version")), "")
    requires = tuple(line for line in _values(headers, "Requires-Dist") if _named(line))
    if not knowledge().matters(name):
        return Distribution(
            name=name,
            version=version,
            location=str(location),
            site_packages=str(folder),
            requires=requires,
        )
    missing, altered = _compare(folder, location, name) if match["kind"] == "dist" else ((), ())
    return Distribution(
        name=name,
        # the folder's name escapes what a file name cannot hold
        version=next(iter(_values(headers, "Version")), version),
        location=str(location),
        site_packages=str(folder),
        tags=_values(_text(location / "WHEEL"), "Tag"),
        requires=requires,
        installer=_text(location / "INSTALLER").strip() or None,
        missing_files=missing if headers else ("METADATA", *missing),
        altered_files=altered,
    )


def _headers(location: Path, kind: str) -> str:
    """The header lines of the metadata, without the description that follows them."""
    if kind == "dist":
        path = location / "METADATA"
    else:
        path = location / "PKG-INFO" if is_folder(location) else location
    text = _text(path)
    return text.partition("\n\n")[0]


def _text(path: Path) -> str:
    return (read_text(path) or "").replace("\r\n", "\n")


def _values(text: str, field: str) -> tuple[str, ...]:
    start = f"{field}: "
    return tuple(line[len(start) :].strip() for line in text.split("\n") if line.startswith(start))


def _named(requirement: str) -> bool:
    match = _REQUIRED_NAME.match(requirement)
    if match is None or _EXTRA.search(requirement):
        return False
    return knowledge().matters(normalise(match[0]))


def _compare(folder: Path, location: Path, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The key files that RECORD names and the disk lacks, and those with another hash."""
    key_files = knowledge().key_files_of(name)
    if not key_files:
        return (), ()
    content = read_bytes(location / "RECORD", _RECORD_LIMIT)
    if content is None:
        return ("RECORD",), ()
    record = b"\n" + content
    missing, altered = [], []
    for path in key_files:
        recorded = _recorded_hash(record, path)
        if recorded is None:
            continue
        state = _state(folder / path, recorded)
        if state == "missing":
            missing.append(path)
        elif state == "altered":
            altered.append(path)
    return tuple(missing), tuple(altered)


def _recorded_hash(record: bytes, path: str) -> str | None:
    """The hash column of a path ("" where it is empty); None when the path is not recorded."""
    start = record.find(b"\n" + path.encode() + b",")
    if start < 0:
        return None
    line = record[start + 1 :].split(b"\n", 1)[0]
    return line.split(b",")[1].decode("ascii", "replace")


def _state(path: Path, recorded: str) -> str:
    if not is_file(path):
        return "missing"
    algorithm, _, expected = recorded.partition("=")
    if algorithm != "sha256" or path.suffix not in _HASHED:
        return "present"
    content = read_bytes(path)
    if content is None:
        return "present"
    digest = hashlib.sha256(content).digest()
    found = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return "present" if found == expected else "altered"
