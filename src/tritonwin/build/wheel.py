"""A built wheel: its local version, and the record beside it."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.version import Version

from tritonwin import __version__
from tritonwin.build import source
from tritonwin.build.outcome import BuildInfo, BuildRun, WheelProof
from tritonwin.build.plan import BuildPlan
from tritonwin.facts.redaction.redactor import Redactor
from tritonwin.journal.tree import file_hash
from tritonwin.support import wheels
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.files import write_whole

INFO_SUFFIX = ".build-info.json"
_VERSION = b"Version:"


def tagged(wheel: Path, local: str) -> Path:
    """The wheel under its new name; itself where it has a local version, or gets none.

    Metadata, the folder of the metadata and RECORD follow; every other file, and its time, stays
    byte for byte. The old wheel is removed when the new one is there.

    Raises:
        WheelNameError: its name is not that of a wheel.
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
    """The lines of a METADATA, the one of the version replaced; the description stays."""
    head = True
    for line in metadata.splitlines(keepends=True):
        head = head and bool(line.strip())
        if head and line.startswith(_VERSION):
            yield _VERSION + f" {version}\n".encode()
        else:
            yield line


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


# --- the record beside it


def describe(
    plan: BuildPlan,
    wheel: Path,
    runs: tuple[BuildRun, ...],
    installed: Mapping[str, str],
    proof: WheelProof | None = None,
) -> BuildInfo:
    """Put the record of a wheel together.

    Args:
        installed: normalised names and versions of what the build environment sees.
    """
    return BuildInfo(
        wheel=wheel.name,
        sha256=file_hash(wheel),
        size=wheel.stat().st_size,
        plan=plan,
        inputs=_inputs(plan),
        versions=_versions(plan, installed),
        runs=runs,
        proof=proof,
    )


def _inputs(plan: BuildPlan) -> dict[str, str]:
    """Everything that came from elsewhere, by its hash."""
    parts = (*(plan.cuda.parts if plan.cuda else ()), *plan.downloads)
    found = {part.file: part.sha256 for part in parts}
    if plan.source.sha256:
        found[Path(plan.source.location).name] = plan.source.sha256
    if commit := source.commit(plan):
        found[plan.source.location] = commit
    return found


def _versions(plan: BuildPlan, installed: Mapping[str, str]) -> dict[str, str]:
    names = {"torch", "setuptools", "wheel", "ninja", "triton", "triton-windows", "cmake"}
    found = {name: version for name, version in sorted(installed.items()) if name in names}
    found |= {"tritonwin": __version__, "python": plan.python}
    if plan.cuda:
        found["cuda"] = plan.cuda.version
    if plan.toolset:
        found[plan.toolset.product] = plan.toolset.version
    return found


def write_info(info: BuildInfo, folder: Path, redactor: Redactor) -> Path:
    """Store the record beside the wheel, with which it is published: redacted. Its path."""
    path = folder / (info.wheel + INFO_SUFFIX)
    public = to_json(redactor.record(info))
    write_whole(path, (json.dumps(public, indent=2) + "\n").encode())
    return path


def read_info(path: Path) -> BuildInfo:
    """Raises OSError, or ValueError where the file holds no such record."""
    return from_json(BuildInfo, parse(path.read_text("utf-8")))
