"""A source folder of the user: its version, its links, and what a Triton pins."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tritonwin.build.copying import NOT_COPIED, Link, is_project, links_out
from tritonwin.build.plan import PinnedFile
from tritonwin.build.recipe import Recipe
from tritonwin.system.files import is_file, is_folder, read_text

_LLVM = "https://oaitriton.blob.core.windows.net/public/llvm-builds"
_METADATA = re.compile(r"^Version: (\S{1,60})$", re.MULTILINE)
_PROJECT = re.compile(r"""^\s{0,8}version\s?=\s?["']([^"']{1,60})["']""", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class TritonPins:
    """What a checkout of Triton wants to be built with.

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


def read_pins(cmake: Path, *, windows: bool) -> TritonPins:
    """The files of Triton's cmake folder: llvm-info.json since 3.8, llvm-hash.txt before."""
    tools = _object(cmake / "nvidia-toolchain-version.json")
    info = _object(cmake / "llvm-info.json")
    llvm = str(info.get("llvm_hash") or (read_text(cmake / "llvm-hash.txt") or "").strip())
    sums = info.get("sha256sum")
    system = "windows-x64" if windows else "ubuntu-x64"
    known = sums.get(system) if isinstance(sums, dict) else None
    number = info.get("build_number")
    return TritonPins(
        llvm=llvm if re.fullmatch(r"[0-9a-f]{8,40}", llvm) else None,
        llvm_build=number if isinstance(number, int) else None,
        llvm_sha256=known if isinstance(known, str) else None,
        json=(read_text(cmake / "json-version.txt") or "").strip() or None,
        tools=tuple(sorted((name, str(version)) for name, version in tools.items())),
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


def _object(file: Path) -> dict[str, object]:
    try:
        data = json.loads(read_text(file) or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
