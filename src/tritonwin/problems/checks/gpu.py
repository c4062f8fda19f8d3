"""GPUs, their drivers, and the abilities of each generation."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.records import Facts
from tritonwin.problems.check import (
    Seen,
    check,
    need,
    need_triton,
    nvidia_capability,
    seen,
)
from tritonwin.problems.conditions import examined
from tritonwin.problems.records import Certainty, Severity
from tritonwin.support import matrix
from tritonwin.support.matrix import Generation
from tritonwin.support.versions import fits, older, parse


@check("driver-too-old")
def driver_too_old(facts: Facts) -> Iterator[Seen]:
    nvidias = facts.nvidia_gpus
    others = any(g.vendor in {"amd", "intel"} for g in facts.gpus)
    need(nvidias or not others, "the GPU is not NVIDIA's")
    need(nvidias or facts.system.machine.upper() != "ARM64", "an ARM64 PC without an NVIDIA GPU")
    cuda = facts.torch and facts.torch.cuda
    need(facts.triton or cuda, "neither Triton nor a CUDA build of torch is installed")
    driver = facts.nvidia_driver
    if driver is None or driver.error:
        text = driver.error if driver and driver.error else "no NVIDIA driver was found"
        yield seen(text, driver.source if driver else "driver libraries")
        return
    ours, theirs = parse(driver.cuda or ""), parse(cuda or "")
    # within one major version CUDA is compatible both ways (minor version compatibility)
    if ours and theirs and ours.major < theirs.major:
        yield seen(
            f"driver {driver.version} runs CUDA up to {driver.cuda}, torch needs CUDA {cuda}",
            driver.source,
        )


def _generation(facts: Facts) -> Generation:
    capability = nvidia_capability(facts)
    generation = matrix.load().generation(capability)
    return need(generation, f"compute capability {capability} is newer than this table")


@check("gpu-generation-unsupported")
def generation_unsupported(facts: Facts) -> Iterator[Seen]:
    capability = nvidia_capability(facts)
    generation = _generation(facts)
    gpu = next(g for g in facts.gpus if g.compute_capability == capability)
    version = facts.triton.version if facts.triton else None
    card = f"{gpu.name} (compute capability {capability}, {generation.name})"
    # a log of such a card may be of anything: what does without Triton works on it
    without = generation.triton is None and generation.triton_partly is None
    certainty: Certainty | None = "possible" if without and not examined(facts) else None
    for severity, text in _shortcomings(facts, generation, version):
        yield seen(f"{card}: {text}", gpu.source, severity=severity, certainty=certainty)


def _shortcomings(
    facts: Facts, generation: Generation, version: str | None
) -> Iterator[tuple[Severity, str]]:
    whole, partly = generation.triton, generation.triton_partly
    if whole is None and partly is None:
        yield "error", "no Triton for Windows supports it"
        return
    works = generation.works(version) if version else None
    if works == "partly":
        hint = f"; everything works with Triton {whole}" if whole else ""
        dots = "tensor-core and integer dot products do not"
        yield "warning", f"with Triton {version} simple kernels work, {dots}{hint}"
    elif works == "not":
        yield "error", f"Triton {version} is installed, {whole or partly} is needed"
    torch = facts.torch
    for name, have, wanted in (
        ("torch", torch and torch.version, generation.torch),
        ("torch's CUDA", torch and torch.cuda, generation.cuda),
    ):
        if have and wanted and not fits(have, wanted):
            yield "error", f"{name} {have} is installed, {wanted} is needed"


@check("fp8-needs-sm89")
def fp8_missing(facts: Facts) -> Iterator[Seen]:
    triton = need_triton(facts)
    capability, row = nvidia_capability(facts), matrix.load().dtype("fp8e4nv")
    owner = facts.distribution(triton.distribution or "triton-windows")
    if not older(capability, row.capability) or (owner and row.emulated_by(owner.version)):
        return
    yield seen(
        f"compute capability {capability} has no fp8 instructions (8.9 and later have), "
        f"and Triton {triton.version} does not emulate them",
        "GPU",
    )
