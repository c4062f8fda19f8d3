"""Cards of AMD: torch and ROCm's wheels for their chip, headers, overriding variables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.amd import chip
from tritonwin.facts.records import Compiler, Facts, Gpu, Rocm
from tritonwin.problems.check import Seen, check, need, need_torch, need_triton, seen
from tritonwin.problems.records import Evidence
from tritonwin.support.versions import fits, older
from tritonwin.support.wheels import read_local

CLANG_CL_SINCE = "3.7.1"  # the first Triton that takes the clang-cl of ROCm's wheels
TOO_NEW = ">=14.50"  # Visual Studio 2026 (TheRock#7805)


def _card(facts: Facts) -> Gpu:
    return need(facts.amd_card, "no AMD GPU is in charge")


def _rocm(facts: Facts) -> Rocm | None:
    return next((r for r in facts.rocm if r.kind == "rocm-wheels"), None)


@check("amd-driver-too-old")
def driver_too_old(facts: Facts) -> Iterator[Seen]:
    """ROCm's wheels bring a runtime, which needs the driver of its time."""
    torch = need_torch(facts)
    apart = "torch is not built for ROCm, or no AMD GPU is in charge"
    need(not facts.nvidia_gpus, apart)
    hip = need(torch.hip, apart)
    driver = need(next((d for d in facts.drivers if d.vendor == "amd"), None), apart)
    named = f"AMD's driver {driver.version or ''}".rstrip()
    if driver.error:
        yield seen(f"{named}: {driver.error}", driver.source)
    elif older(driver.hip, hip.partition(".")[0]):
        yield seen(
            f"{named} has HIP {driver.hip}, torch is built for ROCm {torch.hip}",
            driver.source,
            severity="warning",
            certainty="likely",
        )


@check("amd-wrong-torch")
def wrong_torch(facts: Facts) -> Iterator[Seen]:
    torch, card = need_torch(facts), _card(facts)
    known = chip(card.architecture)
    if torch.hip:
        for name in ("torchvision", "torchaudio"):
            other = facts.distribution(name)
            if other and read_local(other.version.partition("+")[2]).backend != "rocm":
                yield seen(
                    f"{name} {other.version} is not built for ROCm, torch {torch.version} is",
                    other.location,
                )
        return
    if torch.xpu or any(rocm.kind == "zluda" for rocm in facts.rocm):
        return
    need(not known or known.family, f"AMD publishes no torch for {card.architecture} on Windows")
    # an integrated Radeon that nobody computes on is no fault
    meant = torch.cuda or _rocm(facts)
    yield seen(
        f"torch {torch.version} is built for {'CUDA' if torch.cuda else 'the processor alone'}",
        torch.source,
        certainty="certain" if meant else "likely",
        severity=None if meant else "warning",
        also=(Evidence(text=f"{card.name} is in this machine", where=card.source),),
    )


def _chips(facts: Facts) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The chips that parts of ROCm are for, where their packages name them."""
    torch, rocm = need_torch(facts), _rocm(facts)
    both = (("torch", torch.chips), ("ROCm's libraries", rocm.chips if rocm else ()))
    return tuple((what, chips) for what, chips in both if chips)


def _unserved(facts: Facts) -> tuple[Gpu, str]:
    """The card in use and its chip, of a torch for ROCm."""
    card = _card(facts)
    chip_known = need_torch(facts).hip and card.architecture
    return card, need(chip_known, "torch is not built for ROCm, or the chip is not known")


@check("amd-integrated-first")
def integrated_first(facts: Facts) -> Iterator[Seen]:
    card, architecture = _unserved(facts)
    if any(architecture in chips for _, chips in _chips(facts)):
        return
    served = {each for _, chips in _chips(facts) for each in chips}
    for number, other in enumerate(facts.amd_gpus):
        if card.integrated and other.architecture in served:
            yield seen(
                f"{card.name} ({architecture}) comes before {other.name} ({other.architecture}), "
                "which the wheels are for",
                card.source,
                variable="HIP_VISIBLE_DEVICES",
                new_value=str(number),
            )
            return


@check("amd-gpu-unsupported")
def unsupported(facts: Facts) -> Iterator[Seen]:
    card, architecture = _unserved(facts)
    known = chip(architecture)
    if known and known.family is None:
        text = f"{card.name} is {architecture}, for which AMD publishes no torch for Windows"
        yield seen(text, card.source)
        return
    for what, chips in _chips(facts):
        if architecture not in chips:
            yield seen(
                f"{card.name} is {architecture}; {what} has kernels for {', '.join(chips)} alone",
                card.source,
            )


@check("amd-rocm-paths")
def paths(facts: Facts) -> Iterator[Seen]:
    card = _card(facts)
    if not facts.rocm:
        yield seen(
            f"{card.name}: neither ROCm wheels nor a HIP SDK were found",
            card.source,
            gpu=card.name,
        )
    for rocm in facts.rocm:
        if rocm.missing and not any(not r.missing for r in facts.rocm):
            yield seen(
                f"ROCm in {rocm.path} lacks {', '.join(rocm.missing[:4])}",
                rocm.path,
                gpu=card.name,
                path=rocm.path,
            )
    wheels, torch = _rocm(facts), facts.torch
    label = torch.version.partition("+")[2] if torch and torch.hip else ""
    released = re.fullmatch(r"rocm\d[\w.]*", label)
    if wheels and wheels.version and released and label != f"rocm{wheels.version}":
        yield seen(f"torch is built with {label}, ROCm {wheels.version} is installed", wheels.path)


@check("amd-helper-compiler")
def helper_compiler(facts: Facts) -> Iterator[Seen]:
    """The compiler of Triton's driver module for AMD, and its headers."""
    _card(facts)
    triton, wheels = need_triton(facts), _rocm(facts)
    need(need_torch(facts).hip, "torch is not built for ROCm")
    if triton.hip_headers is False and wheels and wheels.devel != "expanded":
        packed = wheels.devel == "packed"
        state = "are packed: rocm-sdk init unpacks them" if packed else "are absent"
        yield seen(f"the headers of HIP {state}; Triton {triton.version} brings none", wheels.path)
    compiler = next((c for c in facts.compilers if c.chosen), None)
    if compiler is None:
        return
    unknown = compiler.source == "ROCm wheels" and older(triton.version, CLANG_CL_SINCE)
    if compiler.family == "tinycc" or unknown:
        text = f"Triton {triton.version} would compile HIP's headers with TinyCC, which cannot"
        yield seen(text, triton.tinycc or triton.location, certainty="likely")
    elif compiler.family == "clang-cl":
        yield from _headers_for(compiler, facts)


def _headers_for(clang: Compiler, facts: Facts) -> Iterator[Seen]:
    """clang-cl brings neither headers nor libraries of C."""
    toolsets = [t for t in facts.msvc if t.compiler and not t.missing]
    sdks = [sdk for sdk in facts.windows_sdks if not sdk.missing]
    needed = (("Visual C++", toolsets), ("a Windows SDK", sdks))
    if lacking := [what for what, there in needed if not there]:
        yield seen(f"clang-cl needs {' and '.join(lacking)} for the headers of C", clang.path)
    elif all(fits(t.version, TOO_NEW) for t in toolsets):
        yield seen(
            f"the only toolset is {toolsets[0].version}; AMD tries its clang with v143 (14.4x)",
            toolsets[0].path,
            severity="warning",
        )


@check("amd-override-wrong")
def override(facts: Facts) -> Iterator[Seen]:
    card = _card(facts)
    named = facts.variable("TRITON_OVERRIDE_ARCH")
    if named and named.value and card.architecture and named.value != card.architecture:
        yield seen(
            f"TRITON_OVERRIDE_ARCH is {named.value}, {card.name} is {card.architecture}",
            named,
        )
    spoofed = facts.variable("HSA_OVERRIDE_GFX_VERSION")
    # "11.0.0" is that of gfx1100
    parts = re.fullmatch(r"(\d+)\.(\d)\.(\d)", spoofed.value.strip()) if spoofed else None
    meant = f"gfx{''.join(parts.groups())}" if parts else None
    if spoofed and spoofed.value and card.architecture and meant != card.architecture:
        yield seen(
            f"HSA_OVERRIDE_GFX_VERSION is {spoofed.value}, {card.name} is {card.architecture}",
            spoofed,
            certainty="likely",
            severity="warning",
        )
