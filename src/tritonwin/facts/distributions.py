"""Installed distributions and their requirements."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tritonwin.facts.packages import knowledge, search_path
from tritonwin.facts.records import Distribution, Interpreter
from tritonwin.system.files import file_size, is_file, is_folder, names_in, read_bytes, read_text


def read_requirement(text: str) -> Requirement | None:
    """The requirement; None for an invalid text."""
    try:
        return Requirement(text)
    except (InvalidRequirement, RecursionError):  # parentheses in a marker, without end
        return None


def holds(requirement: Requirement, environment: Mapping[str, str]) -> bool:
    """True if there is no marker or it holds; one like `os_name ~= "nt"` does not."""
    if requirement.marker is None:
        return True
    try:
        return requirement.marker.evaluate(dict(environment))
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


_FOLDER = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.]*)(?:-(?P<version>[^-]+))?(?:-py[\d.]+)?\.(?P<kind>dist|egg)-info"
)
_REQUIRED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"[^;]*;.*\bextra\b\s*==")  # wanted only with the extra
_EDITABLE = re.compile(r'"editable"\s*:\s*true')
_RECORD_LIMIT = 1 << 26  # bytes; torch's has 1.5 million
_HASHED = {".py", ".c"}
_LIBRARIES = {".pyd", ".dll", ".so"}


def read_distributions(target: Interpreter) -> tuple[Distribution, ...]:
    """Every distribution on the target's path, those that Python finds first before others.

    A distribution that is there twice is given twice: pip removes the old one before it writes
    the new, so two of them mean that an installation was cut short or made by two tools.
    """
    names = ((folder, name) for folder in search_path(target) for name in names_in(folder))
    matches = ((folder, name, _FOLDER.fullmatch(name)) for folder, name in names)
    return tuple(_read(folder, name, match) for folder, name, match in matches if match)


def _read(folder: Path, entry: str, match: re.Match[str]) -> Distribution:
    location = folder / entry
    name = canonicalize_name(match["name"])
    headers = _headers(location, match["kind"])
    told = next(iter(_values(headers, "Version")), "")
    found = Distribution(
        name=name,
        version=match["version"] or told,
        location=str(location),
        site_packages=str(folder),
        requires=tuple(line for line in _values(headers, "Requires-Dist") if _named(line)),
    )
    if not knowledge().matters(name):
        return found
    missing: list[str] = [] if headers else ["METADATA"]
    altered: list[str] = []
    cut: list[str] = []
    for path, recorded in _recorded(location, match["kind"], name):
        if recorded is None or not is_file(folder / path):
            missing.append(path)
        elif _is_altered(folder / path, recorded[0]):
            altered.append(path)
        elif Path(path).suffix in _LIBRARIES and re.fullmatch(r"[0-9]{1,19}", recorded[1]):
            # a program may have been replaced by another version of it; nobody does that to these
            size = file_size(folder / path)
            cut += [path] if size is not None and size < int(recorded[1]) else []
    return replace(
        found,
        # the folder's name escapes what a file name cannot hold
        version=told or found.version,
        tags=_values(_metadata(location / "WHEEL"), "Tag"),
        installer=_metadata(location / "INSTALLER").strip() or None,
        missing_files=tuple(missing),
        editable=bool(_EDITABLE.search(_metadata(location / "direct_url.json"))),
        altered_files=tuple(altered),
        cut_files=tuple(cut),
    )


def _headers(location: Path, kind: str) -> str:
    """The header lines of the metadata, without the description that follows them."""
    if kind == "dist":
        path = location / "METADATA"
    else:
        path = location / "PKG-INFO" if is_folder(location) else location
    text = _metadata(path)
    return text.partition("\n\n")[0]


def _metadata(path: Path) -> str:
    return (read_text(path) or "").replace("\r\n", "\n")


def _values(text: str, field: str) -> tuple[str, ...]:
    start = f"{field}: "
    return tuple(line[len(start) :].strip() for line in text.split("\n") if line.startswith(start))


def _named(requirement: str) -> bool:
    match = _REQUIRED_NAME.match(requirement)
    if match is None or _EXTRA.match(requirement):
        return False
    return knowledge().matters(canonicalize_name(match[0]))


def _recorded(location: Path, kind: str, name: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """The key files in RECORD with hash and size, "" where they are empty.

    A RECORD that cannot be read is named itself, without either.
    """
    key_files = knowledge().key_files_of(name) if kind == "dist" else ()
    content = read_bytes(location / "RECORD", _RECORD_LIMIT) if key_files else b""
    if content is None:
        yield "RECORD", None
        return
    record = b"\n" + content
    for path in key_files:
        start = record.find(b"\n" + path.encode() + b",")
        if start >= 0:
            line = record[start + 1 :].split(b"\n", 1)[0].decode("ascii", "replace")
            _, hashed, size, *_ = (*line.strip().split(","), "", "")
            yield path, (hashed, size)


def _is_altered(path: Path, recorded: str) -> bool:
    algorithm, _, expected = recorded.partition("=")
    if algorithm != "sha256" or path.suffix not in _HASHED:
        return False
    content = read_bytes(path)
    if content is None:
        return False
    digest = hashlib.sha256(content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected
