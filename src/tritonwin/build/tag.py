"""Give a wheel the local version that says what it was built against: `1.0+cu130torch2.11`."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from tritonwin.support import wheels

_VERSION = b"Version:"


def tagged(wheel: Path, local: str) -> Path:
    """The wheel under its new name; itself where it has a local version, or gets none.

    Metadata, the folder of the metadata and RECORD follow; every other file, and its time, stays
    byte for byte. The old wheel is removed when the new one is there.

    Raises:
        WheelNameError: the file is no wheel by its name.
        OSError, zipfile.BadZipFile: it cannot be read.
    """
    name = wheels.read(wheel.name)
    if name.version.local or not local:
        return wheel
    project, old, rest = wheel.name.split("-", 2)
    new = str(Version(f"{old}+{local}"))
    to = wheel.with_name(f"{project}-{new}-{rest}")
    part = to.with_suffix(".part")
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(part, "w") as target:
        record = next(n for n in source.namelist() if n.endswith(".dist-info/RECORD"))
        before = record.removesuffix(".dist-info/RECORD")
        _copy(source, target, (before, f"{before.split('-')[0]}-{new}"), new)
    part.replace(to)
    wheel.unlink()
    return to


def _copy(
    source: zipfile.ZipFile, target: zipfile.ZipFile, folders: tuple[str, str], version: str
) -> None:
    """Copy the members: `NAME-OLD.dist-info` and `NAME-OLD.data` become `NAME-NEW...`."""
    old, new = folders
    record: list[str] = []
    last = f"{new}.dist-info/RECORD"
    for member in source.infolist():
        content = source.read(member)
        moved = member.filename.startswith((f"{old}.dist-info/", f"{old}.data/"))
        name = new + member.filename[len(old) :] if moved else member.filename
        if name == f"{new}.dist-info/METADATA":
            content = b"".join(_with_version(content, version))
        if name != last:
            _write(target, member, name, content)
            record.append(f"{name},sha256={_digest(content)},{len(content)}")
    lines = "\n".join([*record, f"{last},,"]) + "\n"
    _write(target, source.getinfo(f"{old}.dist-info/RECORD"), last, lines.encode())


def _write(target: zipfile.ZipFile, like: zipfile.ZipInfo, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, like.date_time)
    info.external_attr = like.external_attr
    info.compress_type = zipfile.ZIP_DEFLATED
    target.writestr(info, content)


def _with_version(metadata: bytes, version: str) -> Iterator[bytes]:
    """The lines of a METADATA, the one of the version replaced; the description is none of ours."""
    head = True
    for line in metadata.splitlines(keepends=True):
        head = head and bool(line.strip())
        if head and line.startswith(_VERSION):
            yield _VERSION + f" {version}\n".encode()
        else:
            yield line


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
