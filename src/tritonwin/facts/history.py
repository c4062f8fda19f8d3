"""Records that tritonwin keeps of a target: its last proven state, and the patched files.

A reinstall silently restores the original files of a patched package. The manifest holds the
hashes from before and after the patch, so that this shows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, TypeVar

from tritonwin.facts.packages import knowledge
from tritonwin.facts.records import Facts, Interpreter, PatchRecord, Proven, Triton
from tritonwin.system.codec import DecodeError, from_json, parse, to_json
from tritonwin.system.files import read_bytes, read_text, same_place, write_whole
from tritonwin.system.host import Environment, data_folder

T = TypeVar("T")


def _read(cls: type[T], file: Path) -> T | None:
    """The record in a file; None where there is none that this version can read."""
    text = read_text(file)
    with contextlib.suppress(DecodeError, ValueError):
        return None if text is None else from_json(cls, parse(text))
    return None


def read_proven(target: Interpreter, environment: Environment) -> Proven | None:
    """The last proven state of this interpreter."""
    return _read(Proven, _file(target.executable, environment))


def write_proven(facts: Facts, environment: Environment) -> None:
    """Keep the present state as proven. A place that cannot be written is no reason to fail."""
    state = proven_state(facts)
    if facts.target is None or state is None:
        return
    file = _file(facts.target.executable, environment)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(to_json(state), indent=2).encode())


def forget_proven(executable: str, environment: Environment, *, since: str) -> None:
    """Drop a proof that is not older than `since` (ISO 8601): what it rested on was undone."""
    file = _file(executable, environment)
    proof = _read(Proven, file)
    with contextlib.suppress(ValueError, TypeError, OSError):
        if proof and datetime.fromisoformat(proof.when) >= datetime.fromisoformat(since):
            file.unlink()


def proven_state(facts: Facts) -> Proven | None:
    """The state that a proof rests on: Python, driver, distributions compiled for each other."""
    if facts.target is None:
        return None
    driver = facts.nvidia_driver
    names = {*knowledge().triton, *knowledge().extensions, "torch"}
    return Proven(
        when=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        python=facts.target.version,
        driver=driver.version if driver else None,
        versions={d.name: d.version for d in facts.distributions[::-1] if d.name in names},
    )


def _file(executable: str, environment: Environment) -> Path:
    return data_folder(environment) / "proven" / _name_of(Path(executable))


def _name_of(path: Path) -> str:
    place = same_place(path).encode("utf-8", "surrogatepass")
    return f"{hashlib.sha256(place).hexdigest()[:32]}.json"


@dataclass(frozen=True, kw_only=True)
class PatchedFile:
    """A file as it was and as tritonwin left it (SHA-256 of the bytes)."""

    file: str  # relative to the package folder, with slashes
    before: str
    after: str
    rules: tuple[str, ...]  # applied to it so far


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All edits of one Triton package."""

    schema: Literal["tritonwin.patched/1"] = "tritonwin.patched/1"
    package: str
    tool_version: str
    journals: tuple[str, ...]  # whose undo gives the files back, oldest first
    files: tuple[PatchedFile, ...]

    def of(self, file: str) -> PatchedFile | None:
        return next((each for each in self.files if each.file == file), None)

    def encode(self) -> bytes:
        return (json.dumps(to_json(self), indent=2) + "\n").encode("utf-8")


def manifest_path(data: Path, package: Path) -> Path:
    """The place of a package's manifest below tritonwin's data folder, through all links."""
    return data / "patched" / _name_of(Path(os.path.realpath(package)))


def read_manifest(data: Path, package: Path) -> Manifest | None:
    """The manifest; None where there is none that this version can read."""
    return _read(Manifest, manifest_path(data, package))


def read_patch_record(data: Path, triton: Triton | None) -> PatchRecord | None:
    """The present state of the files in the manifest of a Triton."""
    package = Path(triton.location) if triton else None
    manifest = read_manifest(data, package) if package else None
    return compare(manifest, package) if manifest and package else None


def compare(manifest: Manifest, package: Path) -> PatchRecord:
    """The files that are as tritonwin left them, and those that are as they were before."""
    found = {
        each.file: hashlib.sha256(data).hexdigest()
        for each in manifest.files
        if (data := read_bytes(package / each.file)) is not None
    }
    ours = (each.file for each in manifest.files if found.get(each.file) == each.after)
    original = (each.file for each in manifest.files if found.get(each.file) == each.before)
    return PatchRecord(ours=tuple(ours), original=tuple(original))
