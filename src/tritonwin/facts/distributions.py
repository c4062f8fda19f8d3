"""Installed distributions, their requirements, and the requirement files of an application."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tritonwin.facts.packages import knowledge, search_path
from tritonwin.facts.records import Distribution, Interpreter, RequirementLine
from tritonwin.system import toml
from tritonwin.system.files import (
    encoding_of,
    file_size,
    is_file,
    is_folder,
    names_in,
    read_bytes,
    read_text,
)
from tritonwin.system.host import Host


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
    return tuple(d for folder in search_path(target) for d in _in_folder(folder))


def _in_folder(folder: Path) -> Iterator[Distribution]:
    for name in names_in(folder):
        match = _FOLDER.fullmatch(name)
        if match:
            yield _read(folder, name, match)


def _read(folder: Path, entry: str, match: re.Match[str]) -> Distribution:
    location = folder / entry
    name = canonicalize_name(match["name"])
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
    found = _compare(folder, location, name) if match["kind"] == "dist" else _Found()
    return Distribution(
        name=name,
        # the folder's name escapes what a file name cannot hold
        version=next(iter(_values(headers, "Version")), version),
        location=str(location),
        site_packages=str(folder),
        tags=_values(_metadata(location / "WHEEL"), "Tag"),
        requires=requires,
        installer=_metadata(location / "INSTALLER").strip() or None,
        missing_files=tuple(found.missing if headers else ("METADATA", *found.missing)),
        editable=bool(_EDITABLE.search(_metadata(location / "direct_url.json"))),
        altered_files=tuple(found.altered),
        cut_files=tuple(found.cut),
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


@dataclass
class _Found:
    """The key files that are not as RECORD says."""

    missing: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)


def _compare(folder: Path, location: Path, name: str) -> _Found:
    found = _Found()
    key_files = knowledge().key_files_of(name)
    if not key_files:
        return found
    content = read_bytes(location / "RECORD", _RECORD_LIMIT)
    if content is None:
        found.missing.append("RECORD")
        return found
    record = b"\n" + content
    for path in key_files:
        recorded = _recorded(record, path)
        if recorded is None:
            continue
        if not is_file(folder / path):
            found.missing.append(path)
        elif _is_altered(folder / path, recorded[0]):
            found.altered.append(path)
        elif _is_cut(folder / path, recorded[1]):
            found.cut.append(path)
    return found


def _recorded(record: bytes, path: str) -> tuple[str, str] | None:
    """Hash and size of a path ("" where they are empty); None when the path is not recorded."""
    start = record.find(b"\n" + path.encode() + b",")
    if start < 0:
        return None
    line = record[start + 1 :].split(b"\n", 1)[0].decode("ascii", "replace")
    _, hashed, size, *_ = (*line.strip().split(","), "", "")
    return hashed, size


def _is_altered(path: Path, recorded: str) -> bool:
    algorithm, _, expected = recorded.partition("=")
    if algorithm != "sha256" or path.suffix not in _HASHED:
        return False
    content = read_bytes(path)
    if content is None:
        return False
    digest = hashlib.sha256(content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected


def _is_cut(path: Path, recorded: str) -> bool:
    """A program may have been replaced by another version of it; nobody does that to these."""
    if path.suffix not in _LIBRARIES or not recorded.isdecimal():
        return False
    size = file_size(path)
    return size is not None and len(recorded) < 20 and size < int(recorded)


_COMMENT = re.compile(r"(?:^|\s)#.*$")
_MOST_DOTS = 200  # in a line of pyproject.toml: keys with more parts are nobody's
_OPTION = re.compile(r"\s--?[A-Za-z].*$")  # "--hash=..." after a requirement

# A marker is judged for the machine that matters, whatever this one is.
_WINDOWS = {
    "os_name": "nt",
    "sys_platform": "win32",
    "platform_system": "Windows",
    "platform_machine": "AMD64",
    "extra": "",
}


def read_requirement_lines(host: Host) -> tuple[RequirementLine, ...]:
    """Lines that name `triton` and hold on Windows, where no such wheel exists.

    Looked at: `requirements*.txt` and `pyproject.toml` in the current and the application's
    folder, and in the folders directly below their `custom_nodes`.
    """
    roots = dict.fromkeys(folder for folder in (host.cwd, host.app) if folder)
    folders = dict.fromkeys(f for root in roots for f in (root, *_children(root / "custom_nodes")))
    return tuple(line for folder in folders for line in _lines_in(folder))


def _children(folder: Path) -> list[Path]:
    return [path for name in names_in(folder) if is_folder(path := folder / name)]


def _lines_in(folder: Path) -> Iterator[RequirementLine]:
    for path in (folder / n for n in fnmatch.filter(names_in(folder), "requirements*.txt")):
        for number, line in enumerate(_text(path).splitlines(), 1):
            text = _OPTION.sub("", _COMMENT.sub("", line)).strip(" \t\\")
            if asks_for_triton(text):
                yield RequirementLine(path=str(path), line=number, text=text)
    path = folder / "pyproject.toml"
    text = _text(path)
    for requirement in _dependencies(text):
        if asks_for_triton(requirement):
            yield RequirementLine(
                path=str(path), line=_line_of(requirement, text), text=requirement
            )


def asks_for_triton(requirement: str) -> bool:
    """True if a requirement names the distribution `triton` and its marker holds on Windows."""
    parsed = read_requirement(requirement)
    return (
        parsed is not None
        and canonicalize_name(parsed.name) == "triton"
        and holds(parsed, _WINDOWS)
    )


def _dependencies(text: str) -> list[str]:
    # Python's reader takes a time that grows with the square of a key's parts
    if max((line.count(".") for line in text.split("\n")), default=0) > _MOST_DOTS:
        return []
    try:
        project: Any = toml.loads(text).get("project", {})
    except (ValueError, RecursionError):  # ValueError: also a number of thousands of digits
        return []
    listed = project.get("dependencies", []) if isinstance(project, dict) else []
    return [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []


def _line_of(requirement: str, text: str) -> int:
    start = text.find(requirement)
    return text.count("\n", 0, max(start, 0)) + 1


def _text(path: Path) -> str:
    data = read_bytes(path) or b""
    return data.decode(encoding_of(data), "replace")
