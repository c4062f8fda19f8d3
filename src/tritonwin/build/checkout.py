"""A source folder of the user: its version, its links, and what a Triton pins."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tritonwin.build.copying import NOT_COPIED, Link, is_project, links_out
from tritonwin.build.plan import PinnedFile
from tritonwin.build.recipe import Recipe
from tritonwin.system.codec import from_json, parse
from tritonwin.system.files import is_file, is_folder, read_text

T = TypeVar("T")
_LLVM = "https://oaitriton.blob.core.windows.net/public/llvm-builds"
_METADATA = re.compile(r"^Version: (\S{1,60})$", re.MULTILINE)
_PROJECT = re.compile(r"""^\s{0,8}version\s?=\s?["']([^"']{1,60})["']""", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class TritonPins:
    """The dependencies that a checkout of Triton pins.

    Attributes:
        llvm: commit of LLVM, at least its first 8 digits.
        llvm_build: number of the prebuilt archive; None where a commit has only one.
        llvm_sha256: of the archive for this system; older checkouts do not say it.
        json: version of nlohmann's JSON: "v3.11.3".
        tools: NVIDIA's programs -> version.
    """

    llvm: str | None = None
    llvm_build: int | None = None
    llvm_sha256: str | None = None
    json: str | None = None
    tools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A source folder of the user's.

    Attributes:
        links_out: the links that lead out of it.
    """

    path: Path
    version: str | None
    subfolder: str
    links_out: tuple[Link, ...] = ()
    pins: TritonPins | None = None


def read(folder: Path, recipe: Recipe, *, windows: bool) -> Checkout | None:
    """Examine a folder; None where it holds no Python project.

    Triton up to 3.3 keeps its setup.py in `python`.
    """
    places = [s for s in ("", "python") if is_project(folder / s)]
    if not places:
        return None
    triton = is_folder(folder / "cmake") and is_file(folder / "cmake" / "json-version.txt")
    return Checkout(
        path=folder,
        version=_version(folder, folder / places[0], recipe),
        subfolder=places[0],
        links_out=links_out(folder, (*NOT_COPIED, *recipe.skip)),
        pins=read_pins(folder / "cmake", windows=windows) if triton else None,
    )


@dataclass(frozen=True, kw_only=True)
class _LlvmInfo:
    """llvm-info.json, since Triton 3.8."""

    llvm_hash: str = ""
    build_number: int | None = None
    sha256sum: dict[str, str] = field(default_factory=dict)


def read_pins(cmake: Path, *, windows: bool) -> TritonPins:
    """The files of Triton's cmake folder: llvm-info.json since 3.8, llvm-hash.txt before."""
    tools = _record(cmake / "nvidia-toolchain-version.json", dict[str, str]) or {}
    info = _record(cmake / "llvm-info.json", _LlvmInfo) or _LlvmInfo()
    llvm = info.llvm_hash or (read_text(cmake / "llvm-hash.txt") or "").strip()
    return TritonPins(
        llvm=llvm if re.fullmatch(r"[0-9a-f]{8,40}", llvm) else None,
        llvm_build=info.build_number,
        llvm_sha256=info.sha256sum.get("windows-x64" if windows else "ubuntu-x64"),
        json=(read_text(cmake / "json-version.txt") or "").strip() or None,
        tools=tuple(sorted(tools.items())),
    )


def llvm_archive(pins: TritonPins, *, windows: bool) -> PinnedFile | None:
    """The prebuilt LLVM, where the checkout says its hash."""
    if pins.llvm is None or pins.llvm_sha256 is None:
        return None
    build = "" if pins.llvm_build is None else f"-{pins.llvm_build}"
    file = f"llvm-{pins.llvm[:8]}{build}-{'windows' if windows else 'ubuntu'}-x64.tar.gz"
    return PinnedFile(
        name="llvm",
        version=pins.llvm[:8],
        file=file,
        url=f"{_LLVM}/{file}",
        sha256=pins.llvm_sha256,
    )


def _version(root: Path, project: Path, recipe: Recipe) -> str | None:
    named = [(root / recipe.version_file, re.compile(recipe.version_pattern))]
    if recipe.version_file == "setup.py":
        named = [(project / "setup.py", re.compile(recipe.version_pattern))]
    for file, pattern in (
        *(named if recipe.version_file else ()),
        (project / "PKG-INFO", _METADATA),
        (project / "pyproject.toml", _PROJECT),
        (project / "setup.py", _PROJECT),
    ):
        found = pattern.search(read_text(file) or "")
        if found:
            return str(found[1])
    return None


def _record(file: Path, cls: type[T]) -> T | None:
    """The content of a file; None where it is missing or damaged."""
    with contextlib.suppress(ValueError):
        return from_json(cls, parse(read_text(file) or ""), file.name)
    return None
