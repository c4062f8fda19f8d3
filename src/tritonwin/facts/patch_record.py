"""What `tritonwin patch` wrote into a Triton, kept outside of it: the manifest, and how it stands.

A reinstall puts the original files back without a word. The manifest remembers what was there
before and after, so that this shows.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tritonwin.facts.model import PatchRecord
from tritonwin.system.codec import DecodeError, from_json, parse, to_json
from tritonwin.system.files import read_bytes, read_text, same_place


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
    """Where the manifest of a package lies below tritonwin's data folder."""
    place = same_place(package).encode("utf-8", "surrogatepass")
    return data / "patched" / f"{hashlib.sha256(place).hexdigest()[:32]}.json"


def read_manifest(data: Path, package: Path) -> Manifest | None:
    """None where there is none, or none that this version can read."""
    text = read_text(manifest_path(data, package))
    with contextlib.suppress(DecodeError, ValueError):
        return None if text is None else from_json(Manifest, parse(text))
    return None


def read_patch_record(data: Path, package: Path) -> PatchRecord | None:
    """How the files of the manifest stand on disk now."""
    manifest = read_manifest(data, package)
    return None if manifest is None else compare(manifest, package)


def compare(manifest: Manifest, package: Path) -> PatchRecord:
    """Which files are as tritonwin left them, as they were before, or neither."""
    stands: dict[str, list[str]] = {"ours": [], "original": [], "other": []}
    for each in manifest.files:
        data = read_bytes(package / each.file)
        found = None if data is None else hashlib.sha256(data).hexdigest()
        kinds = {each.before: "original", each.after: "ours"}
        stands[kinds.get(found or "", "other")].append(each.file)
    return PatchRecord(
        package=manifest.package,
        tool_version=manifest.tool_version,
        journals=manifest.journals,
        **{kind: tuple(files) for kind, files in stands.items()},
    )
