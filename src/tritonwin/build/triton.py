"""Needs of a Triton from source: LLVM, JSON, pybind11, symbolic links."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tritonwin.build.plan import PinnedFile
from tritonwin.build.recipe import SourceRelease
from tritonwin.support.choice import Choice, Obstacle, Reason
from tritonwin.system.codec import from_json, parse
from tritonwin.system.files import read_text

if TYPE_CHECKING:
    from tritonwin.build.order import Order, Request

T = TypeVar("T")
_LLVM = "https://oaitriton.blob.core.windows.net/public/llvm-builds"
_FLAGS = "--llvm, --nlohmann-json, --pybind11, --offline"


@dataclass(frozen=True, kw_only=True)
class TritonNeeds:
    """Additions to the plan."""

    environment: dict[str, str] = field(default_factory=dict)
    downloads: tuple[PinnedFile, ...] = ()


def needs(request: Request, release: SourceRelease | None) -> Choice[TritonNeeds]:
    """The variables, pins and obstacles of a Triton build.

    Offline, setup.py wants the folders of LLVM and JSON and bundles neither ptxas nor TinyCC. It
    runs in a build folder of its own, so that no CMakeCache.txt of the other way can spoil it.
    TRITON_HOME, where setup.py keeps what it fetched, is the parent of all build folders.
    """
    order, checkout = request.order, request.machine.checkout
    pins = checkout.pins if checkout else None
    folders = (
        ("LLVM_SYSPATH", order.llvm), ("JSON_SYSPATH", order.json),
        ("PYBIND11_SYSPATH", order.pybind11),
    )  # fmt: skip
    environment = {name: str(path.absolute()) for name, path in folders if path}
    environment["TRITON_HOME"] = request.parent
    if order.offline:
        environment["TRITON_OFFLINE_BUILD"] = "1"
    if request.windows:
        environment["HOME"] = request.parent  # setup.py would prefer the one of Git Bash
    archive = llvm_archive(pins, windows=request.windows) if pins else None
    fetches = archive is not None and order.llvm is None and not order.offline
    return Choice(
        value=TritonNeeds(
            environment=environment, downloads=(archive,) if archive and fetches else ()
        ),
        reasons=_reasons(order, pins),
        warnings=tuple(_warnings(order, pins)),
        refusals=(*_offline(order), *_links(request, release)),
    )


def _reasons(order: Order, pins: TritonPins | None) -> tuple[Reason, ...]:
    if order.llvm:
        llvm, why = str(order.llvm), "asked for"
    elif pins and pins.llvm:
        llvm, why = f"prebuilt {pins.llvm[:8]}", "the checkout pins it"
    else:
        llvm, why = "as the source pins it", "the source is not here yet"
    reasons = [Reason(name="LLVM", value=llvm, reason=why, flag=_FLAGS)]
    if pins and pins.json:
        reasons.append(
            Reason(name="JSON", value=pins.json, reason="the checkout pins it", flag=_FLAGS)
        )
    if pins and pins.tools and not order.offline:
        tools = ", ".join(f"{name} {version}" for name, version in pins.tools)
        reasons.append(Reason(name="NVIDIA tools", value=tools, reason="bundled in the wheel"))
    return tuple(reasons)


def _warnings(order: Order, pins: TritonPins | None) -> list[str]:
    found = []
    if order.offline:
        found.append("an offline build bundles neither ptxas nor TinyCC: users need a toolkit")
    elif pins and pins.llvm and pins.llvm_sha256 is None and order.llvm is None:
        found.append("this checkout names no hash for LLVM: setup.py takes what the server gives")
    return found


def _offline(order: Order) -> tuple[Obstacle, ...]:
    lacking = [
        flag
        for flag, path in (("--llvm", order.llvm), ("--nlohmann-json", order.json))
        if path is None
    ]
    if not order.offline or not lacking:
        return ()
    return (
        Obstacle(
            problem="",
            message="an offline build of Triton needs LLVM and JSON as folders",
            help=f"Name them: {' DIR '.join(lacking)} DIR",
        ),
    )


def _links(request: Request, release: SourceRelease | None) -> tuple[Obstacle, ...]:
    """Triton up to 3.6 makes symbolic links, which Windows grants to few."""
    system = request.facts.system
    allowed = system.developer_mode is True or system.admin is True
    if not request.windows or allowed or release is None or not release.symlinks:
        return ()
    return (
        Obstacle(
            problem="symlinks-not-allowed",
            message=f"Triton {release.version} makes symbolic links, which this account may not "
            "(WinError 1314)",
            help="Turn on Developer Mode: Settings > System > For developers; or build Triton 3.7",
        ),
    )


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
    """

    llvm: str | None = None
    llvm_build: int | None = None
    llvm_sha256: str | None = None
    json: str | None = None
    tools: tuple[tuple[str, str], ...] = ()


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


def _record(file: Path, cls: type[T]) -> T | None:
    """The content of a file; None where it is missing or damaged."""
    with contextlib.suppress(ValueError):
        return from_json(cls, parse(read_text(file) or ""), file.name)
    return None
