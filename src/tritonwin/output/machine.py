"""The machine in words: for the summary, for the form of a bug report, and of a log."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tritonwin.facts.records import Facts, Gpu
from tritonwin.output.text import size

ABSENT = "not installed"
_COMPILERS = {"tinycc": "TinyCC", "cl": "Visual C++"}


def layers(facts: Facts) -> dict[str, str]:
    """The found driver, Python, torch, Triton, compiler and caches, in a line each."""
    torch = facts.torch
    cuda = f", built for CUDA {torch.cuda}" if torch and torch.cuda else ""
    caches = [f"{size(c.size_bytes)} in {c.path}" for c in facts.caches if c.size_bytes]
    return {
        "driver": _gpu(facts),
        "Python": _python(facts),
        "torch": torch.version + cuda if torch else ABSENT,
        "Triton": triton_name(facts) or ABSENT,
        "compiler": _compiler(facts),
        "caches": "; ".join(caches) or "empty",
    }


def described(facts: Facts) -> Iterator[tuple[str, str]]:
    """Names and values, in the order and the words of triton-windows' form for bugs."""
    yield "GPU", _gpu(facts)
    yield "Python", _python(facts)
    yield "PyTorch", facts.torch.version if facts.torch else ABSENT
    where = f" in {facts.triton.location}" if facts.triton else ""
    yield "Triton", f"{triton_name(facts) or 'not installed'}{where}"
    yield "CUDA", _cuda(facts)
    yield "Compiler", _compiler(facts)
    system = facts.system
    wine = f", Wine {system.wine}" if system.wine else ""
    yield "System", f"{system.os} {system.version} {system.machine}{wine}"


def gpu_name(gpu: Gpu) -> str:
    """ "NVIDIA GeForce RTX 4090 (8.9)"."""
    kind = gpu.compute_capability or gpu.architecture
    return gpu.name + (f" ({kind})" if kind else "")


def triton_name(facts: Facts) -> str | None:
    """ "triton-windows 3.5.1.post24", or "Triton 3.5.1" where no distribution owns it."""
    if facts.triton is None:
        return None
    owner = facts.distribution(facts.triton.distribution or "")
    return (
        f"{owner.name} {owner.version}" if owner else f"Triton {facts.triton.version or ''}".strip()
    )


def versions(facts: Facts) -> Iterator[str]:
    """The facts that a log can hold, for one line."""
    if target := facts.target:
        place = target.executable if re.search(r"[/\\]", target.executable) else None
        if target.version or place:
            yield " ".join(filter(None, ("Python", target.version, place)))
    if facts.torch:
        yield f"torch {facts.torch.version}"
    if name := triton_name(facts):
        yield name
    yield from map(gpu_name, facts.gpus)
    yield from (f"driver {d.version}" for d in facts.drivers if d.version)
    yield from (f"MSVC {m.version}" for m in facts.msvc)


def _python(facts: Facts) -> str:
    target = facts.target
    if target is None:
        return "none"
    read = " (its files were read; it was not started)" if target.started is False else ""
    return f"{target.version} ({target.kind}) {target.executable}{read}"


def _gpu(facts: Facts) -> str:
    driver = ", ".join(f"driver {d.version or d.error}" for d in facts.drivers)
    gpus = [gpu_name(gpu) for gpu in facts.gpus]
    return "; ".join(gpus or ["no GPU was found"]) + (f"; {driver}" if driver else "")


def _cuda(facts: Facts) -> str:
    toolkits = [t for t in facts.cuda_toolkits if t.exists]
    parts = [f"{t.version or 'unknown version'} ({t.layout})" for t in toolkits]
    if facts.torch and facts.torch.cuda:
        parts.insert(0, f"torch built for {facts.torch.cuda}")
    return ", ".join(dict.fromkeys(parts)) or "no toolkit"


def _compiler(facts: Facts) -> str:
    found = [c for c in facts.compilers if c.flaw is None]
    parts = [f"{_COMPILERS.get(c.family, c.family)} ({c.source})" for c in found if c.chosen]
    parts += [f"MSVC {m.version}" for m in facts.msvc]
    parts += [_COMPILERS.get(c.family, c.family) for c in found if not c.chosen]
    return ", ".join(dict.fromkeys(parts)) or "none"
