"""Needs of a Triton from source: LLVM, JSON, pybind11, symbolic links."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from tritonwin.build.recipe import SourceRelease
from tritonwin.system.codec import from_json, parse
from tritonwin.system.files import read_text
from tritonwin.system.toml import loads

if TYPE_CHECKING:
    from tritonwin.build.order import Request

_FOLDERS = ("LLVM_SYSPATH", "JSON_SYSPATH", "PYBIND11_SYSPATH")  # read by Triton's setup.py


@dataclass(frozen=True, kw_only=True)
class TritonPins:
    """The dependencies that a checkout of Triton pins.

    Attributes:
        llvm: commit of LLVM, at least its first 8 digits.
        hashed: the hash of its archive for this system is known; older checkouts do not say it.
        json: version of nlohmann's JSON: "v3.11.3".
        requirements: of the build environment; main has nanobind since 2026, releases pybind11.
    """

    llvm: str | None = None
    hashed: bool = False
    json: str | None = None
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _LlvmInfo:
    """llvm-info.json, since Triton 3.8."""

    llvm_hash: str = ""
    sha256sum: dict[str, str] = field(default_factory=dict)


def read_pins(cmake: Path, *, windows: bool) -> TritonPins:
    """The files of Triton's cmake folder: llvm-info.json since 3.8, llvm-hash.txt before."""
    info = _LlvmInfo()
    with contextlib.suppress(ValueError):
        info = from_json(_LlvmInfo, parse(read_text(cmake / "llvm-info.json") or ""), "info")
    llvm = info.llvm_hash or (read_text(cmake / "llvm-hash.txt") or "").strip()
    requirements: tuple[str, ...] = ()
    with contextlib.suppress(ValueError, LookupError, TypeError):
        project = loads(read_text(cmake.with_name("pyproject.toml")) or "")
        requirements = tuple(str(Requirement(r)) for r in project["build-system"]["requires"])
    return TritonPins(
        llvm=llvm if re.fullmatch(r"[0-9a-f]{8,40}", llvm) else None,
        hashed=("windows-x64" if windows else "ubuntu-x64") in info.sha256sum,
        json=(read_text(cmake / "json-version.txt") or "").strip() or None,
        requirements=requirements,
    )


def needs(request: Request, release: SourceRelease | None) -> dict[str, str]:
    """The variables of a Triton build; what its setup.py fetches is said in the notes.

    Offline, setup.py wants the folders of LLVM and JSON and bundles neither ptxas nor TinyCC. It
    runs in a build folder of its own, so that no CMakeCache.txt of the other way can spoil it.
    TRITON_HOME, where setup.py keeps what it fetched, is the parent of all build folders.
    """
    order, checkout, notes = request.order, request.machine.checkout, request.notes
    pins = checkout.pins if checkout and checkout.pins else TritonPins()
    env = request.host.env
    folders = {name: value.strip() for name in _FOLDERS if (value := env.get(name))}
    environment = {**folders, "TRITON_HOME": request.parent}
    if order.offline:
        environment["TRITON_OFFLINE_BUILD"] = "1"
    if request.windows:
        environment["HOME"] = request.parent  # setup.py would prefer the one of Git Bash

    pinned = ("LLVM", pins.llvm and f"prebuilt {pins.llvm[:8]}"), ("JSON", pins.json), ("", None)
    for variable, (name, version) in zip(_FOLDERS, pinned, strict=True):
        if variable in folders:
            notes.because(variable, folders[variable], "it is set, and setup.py reads it")
        elif version:
            notes.because(name, version, "the checkout pins it", variable)
    if order.offline:
        notes.warnings.append(
            "an offline build bundles neither ptxas nor TinyCC: users need a toolkit"
        )
        if lacking := [name for name in _FOLDERS[:2] if name not in folders]:
            notes.refuse(
                "an offline build of Triton needs LLVM and JSON as folders",
                f"Name them in variables: {', '.join(lacking)}",
            )
    elif pins.llvm and not pins.hashed and _FOLDERS[0] not in folders:
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
    return environment
