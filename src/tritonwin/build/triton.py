"""Needs of a Triton from source: LLVM, JSON, pybind11, symbolic links."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from packaging.requirements import Requirement

from tritonwin.build.recipe import SourceRelease
from tritonwin.support.wheel_choice import FileSource
from tritonwin.system.codec import from_json, parse
from tritonwin.system.files import read_text
from tritonwin.system.toml import loads

if TYPE_CHECKING:
    from tritonwin.build.order import Request

T = TypeVar("T")
_LLVM = "https://oaitriton.blob.core.windows.net/public/llvm-builds"
_FOLDERS = ("LLVM_SYSPATH", "JSON_SYSPATH", "PYBIND11_SYSPATH")  # read by Triton's setup.py
_FLAGS = "LLVM_SYSPATH, JSON_SYSPATH, --offline"


def needs(
    request: Request, release: SourceRelease | None
) -> tuple[dict[str, str], tuple[FileSource, ...]]:
    """The variables of a Triton build, and what its setup.py will fetch by a known hash.

    Offline, setup.py wants the folders of LLVM and JSON and bundles neither ptxas nor TinyCC. It
    runs in a build folder of its own, so that no CMakeCache.txt of the other way can spoil it.
    TRITON_HOME, where setup.py keeps what it fetched, is the parent of all build folders.
    """
    order, checkout, notes = request.order, request.machine.checkout, request.notes
    pins = checkout.pins if checkout and checkout.pins else TritonPins()
    env = request.host.env
    folders = {name: value.strip() for name in _FOLDERS if (value := env.get(name))}
    llvm = folders.get("LLVM_SYSPATH")
    environment = {**folders, "TRITON_HOME": request.parent}
    if order.offline:
        environment["TRITON_OFFLINE_BUILD"] = "1"
    if request.windows:
        environment["HOME"] = request.parent  # setup.py would prefer the one of Git Bash

    if llvm:
        notes.because("LLVM", llvm, "the variable LLVM_SYSPATH", _FLAGS)
    elif pins.llvm:
        notes.because("LLVM", f"prebuilt {pins.llvm[:8]}", "the checkout pins it", _FLAGS)
    else:
        notes.because("LLVM", "as the source pins it", "the source is not here yet", _FLAGS)
    if pins.json:
        notes.because("JSON", pins.json, "the checkout pins it", _FLAGS)
    if pins.tools and not order.offline:
        tools = ", ".join(f"{name} {version}" for name, version in pins.tools)
        notes.because("NVIDIA tools", tools, "bundled in the wheel")
    if order.offline:
        notes.warnings.append(
            "an offline build bundles neither ptxas nor TinyCC: users need a toolkit"
        )
        if lacking := [name for name in _FOLDERS[:2] if name not in folders]:
            notes.refuse(
                "an offline build of Triton needs LLVM and JSON as folders",
                f"Name them in variables: {', '.join(lacking)}",
            )
    elif pins.llvm and pins.llvm_sha256 is None and llvm is None:
        notes.warnings.append(
            "this checkout names no hash for LLVM: setup.py takes what the server gives"
        )
    system = request.facts.system
    may_link = not request.windows or system.developer_mode is True or system.admin is True
    if release is not None and release.symlinks and not may_link:
        notes.refuse(
            f"Triton {release.version} makes symbolic links, which this account may not "
            "(WinError 1314)",
            "Turn on Developer Mode: Settings > System > For developers; or build Triton 3.7",
            "symlinks-not-allowed",
        )
    archive = None if llvm or order.offline else llvm_archive(pins, windows=request.windows)
    return environment, (archive,) if archive else ()


# --- the pins of a checkout


@dataclass(frozen=True, kw_only=True)
class TritonPins:
    """The dependencies that a checkout of Triton pins.

    Attributes:
        llvm: commit of LLVM, at least its first 8 digits.
        llvm_build: number of the prebuilt archive; None where a commit has only one.
        llvm_sha256: of the archive for this system; older checkouts do not say it.
        json: version of nlohmann's JSON: "v3.11.3".
        tools: NVIDIA's programs -> version.
        requirements: of the build environment; main has nanobind since 2026, releases pybind11.
    """

    llvm: str | None = None
    llvm_build: int | None = None
    llvm_sha256: str | None = None
    json: str | None = None
    tools: tuple[tuple[str, str], ...] = ()
    requirements: tuple[str, ...] = ()


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
        requirements=_requirements(cmake.with_name("pyproject.toml")),
    )


def _requirements(project: Path) -> tuple[str, ...]:
    """The build requirements of a pyproject.toml; empty where it is missing or says none."""
    with contextlib.suppress(ValueError, LookupError, TypeError):
        wanted = loads(read_text(project) or "")["build-system"]["requires"]
        return tuple(str(Requirement(each)) for each in wanted)
    return ()


def llvm_archive(pins: TritonPins, *, windows: bool) -> FileSource | None:
    """The prebuilt LLVM, where the checkout says its hash."""
    if pins.llvm is None or pins.llvm_sha256 is None:
        return None
    build = "" if pins.llvm_build is None else f"-{pins.llvm_build}"
    file = f"llvm-{pins.llvm[:8]}-{'windows' if windows else 'ubuntu'}-x64{build}.tar.gz"
    return FileSource(
        name="llvm",
        version=pins.llvm[:8],
        location=f"{_LLVM}/{file}",
        sha256=pins.llvm_sha256,
    )


def _record(file: Path, cls: type[T]) -> T | None:
    """The content of a file; None where it is missing or damaged."""
    with contextlib.suppress(ValueError):
        return from_json(cls, parse(read_text(file) or ""), file.name)
    return None
