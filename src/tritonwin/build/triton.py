"""What a Triton from source needs besides: LLVM, JSON, pybind11, symbolic links."""

from __future__ import annotations

from dataclasses import dataclass, field

from tritonwin.build.checkout import TritonPins, llvm_archive
from tritonwin.build.model import Decision, PinnedFile, Refusal
from tritonwin.build.order import Machine, Order
from tritonwin.build.recipe import Release

_FLAGS = "--llvm, --nlohmann-json, --pybind11, --offline"


@dataclass(frozen=True, kw_only=True)
class TritonNeeds:
    """What is added to the plan."""

    environment: dict[str, str] = field(default_factory=dict)
    downloads: tuple[PinnedFile, ...] = ()
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[str, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def needs(order: Order, machine: Machine, release: Release | None, home: str) -> TritonNeeds:
    """The variables, pins and obstacles of a Triton build.

    Offline, setup.py wants the folders of LLVM and JSON and bundles neither ptxas nor TinyCC. It
    runs in a build folder of its own, so that no CMakeCache.txt of the other way can spoil it.

    Args:
        home: where setup.py keeps what it fetched: TRITON_HOME.
    """
    pins = machine.checkout.pins if machine.checkout else None
    folders = (
        ("LLVM_SYSPATH", order.llvm), ("JSON_SYSPATH", order.json),
        ("PYBIND11_SYSPATH", order.pybind11),
    )  # fmt: skip
    environment = {name: str(path.absolute()) for name, path in folders if path}
    environment["TRITON_HOME"] = home
    if order.offline:
        environment["TRITON_OFFLINE_BUILD"] = "1"
    if machine.host.windows:
        environment["HOME"] = home  # setup.py would prefer the one of Git Bash
    archive = llvm_archive(pins, windows=machine.host.windows) if pins else None
    fetches = archive is not None and order.llvm is None and not order.offline
    return TritonNeeds(
        environment=environment,
        downloads=(archive,) if archive and fetches else (),
        decisions=_decisions(order, pins),
        warnings=tuple(_warnings(order, pins)),
        refusals=(*_offline(order), *_links(machine, release)),
    )


def _decisions(order: Order, pins: TritonPins | None) -> tuple[Decision, ...]:
    if order.llvm:
        llvm, why = str(order.llvm), "asked for"
    elif pins and pins.llvm:
        llvm, why = f"prebuilt {pins.llvm[:8]}", "the checkout pins it"
    else:
        llvm, why = "as the source pins it", "the source is not here yet"
    decisions = [Decision(name="LLVM", value=llvm, reason=why, flag=_FLAGS)]
    if pins and pins.json:
        decisions.append(
            Decision(name="JSON", value=pins.json, reason="the checkout pins it", flag=_FLAGS)
        )
    if pins and pins.tools and not order.offline:
        tools = ", ".join(f"{name} {version}" for name, version in pins.tools)
        decisions.append(Decision(name="NVIDIA tools", value=tools, reason="bundled in the wheel"))
    return tuple(decisions)


def _warnings(order: Order, pins: TritonPins | None) -> list[str]:
    found = []
    if order.offline:
        found.append("an offline build bundles neither ptxas nor TinyCC: users need a toolkit")
    elif pins and pins.llvm and pins.llvm_sha256 is None and order.llvm is None:
        found.append("this checkout names no hash for LLVM: setup.py takes what the server gives")
    return found


def _offline(order: Order) -> tuple[Refusal, ...]:
    lacking = [
        flag
        for flag, path in (("--llvm", order.llvm), ("--nlohmann-json", order.json))
        if path is None
    ]
    if not order.offline or not lacking:
        return ()
    return (
        Refusal(
            problem="",
            message="an offline build of Triton needs LLVM and JSON as folders",
            help=f"Name them: {' DIR '.join(lacking)} DIR",
        ),
    )


def _links(machine: Machine, release: Release | None) -> tuple[Refusal, ...]:
    """Triton up to 3.6 makes symbolic links, which Windows grants to few."""
    system = machine.facts.system
    allowed = system.developer_mode is True or system.admin is True
    if not machine.host.windows or allowed or release is None or not release.symlinks:
        return ()
    return (
        Refusal(
            problem="symlinks-not-allowed",
            message=f"Triton {release.version} makes symbolic links, which this account may not "
            "(WinError 1314)",
            help="Turn on Developer Mode: Settings > System > For developers; or build Triton 3.7",
        ),
    )
