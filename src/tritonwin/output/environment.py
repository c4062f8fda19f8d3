"""The machine in the few lines that every report of a bug has to have."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.records import Facts, Gpu


def described(facts: Facts) -> Iterator[tuple[str, str]]:
    """Names and values, in the order and the words of triton-windows' form for bugs."""
    yield "GPU", _gpu(facts)
    target = facts.target
    yield "Python", f"{target.version} ({target.kind}) {target.executable}" if target else "none"
    yield "PyTorch", facts.torch.version if facts.torch else "not installed"
    yield "Triton", _triton(facts)
    yield "CUDA", _cuda(facts)
    yield "Compiler", _compiler(facts)
    yield "System", _system(facts)


def gpu_name(gpu: Gpu) -> str:
    """ "NVIDIA GeForce RTX 4090 (8.9)"."""
    return gpu.name + (f" ({gpu.compute_capability})" if gpu.compute_capability else "")


def triton_name(facts: Facts) -> str | None:
    """ "triton-windows 3.5.1.post24", or "Triton 3.5.1" where no distribution owns it."""
    if facts.triton is None:
        return None
    owner = facts.distribution(facts.triton.distribution or "")
    return f"{owner.name} {owner.version}" if owner else f"Triton {facts.triton.version}"


def _gpu(facts: Facts) -> str:
    driver = ", ".join(f"driver {d.version or d.error}" for d in facts.drivers)
    gpus = [gpu_name(gpu) for gpu in facts.gpus]
    return "; ".join(gpus or ["none was found"]) + (f"; {driver}" if driver else "")


def _triton(facts: Facts) -> str:
    if facts.triton is None:
        return "not installed"
    return f"{triton_name(facts)} in {facts.triton.location}"


def _cuda(facts: Facts) -> str:
    toolkits = [t for t in facts.cuda_toolkits if t.exists]
    parts = [f"{t.version or 'unknown version'} ({t.layout})" for t in toolkits]
    if facts.torch and facts.torch.cuda:
        parts.insert(0, f"torch built for {facts.torch.cuda}")
    return ", ".join(dict.fromkeys(parts)) or "no toolkit"


def _compiler(facts: Facts) -> str:
    parts = [f"MSVC {m.version}" for m in facts.msvc]
    parts += [c.family for c in facts.compilers if c.flaw is None]
    return ", ".join(dict.fromkeys(parts)) or "none"


def _system(facts: Facts) -> str:
    wine = f", Wine {facts.system.wine}" if facts.system.wine else ""
    return f"{facts.system.os} {facts.system.version} {facts.system.machine}{wine}"
