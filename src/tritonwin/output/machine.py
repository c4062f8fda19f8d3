"""The machine in words: for the summary, for the form of a bug report, and of a log."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.records import Facts, Gpu, Interpreter, Triton
from tritonwin.output.text import size

ABSENT = "not installed"
_COMPILERS = {"tinycc": "TinyCC", "cl": "Visual C++"}
_LACKING = {
    "GPU": "no GPU was found",
    "Python": "none",
    "PyTorch": ABSENT,
    "Triton": ABSENT,
    "CUDA": "no toolkit",
    "Compiler": "none",
}


def known(facts: Facts) -> dict[str, str]:
    """The known parts of the machine, in the order and words of triton-windows' form for bugs."""
    texts = {
        "GPU": "; ".join(_gpus(facts)),
        "Python": _python(facts.target) if facts.target else "",
        "PyTorch": facts.torch.version if facts.torch else "",
        "Triton": _triton(facts, facts.triton) if facts.triton else "",
        "CUDA": _cuda(facts),
        "Compiler": _compiler(facts),
    }
    return {name: text for name, text in texts.items() if text}


def described(facts: Facts) -> Iterator[tuple[str, str]]:
    """The same with what is not there, and the system."""
    yield from (_LACKING | known(facts)).items()
    system = facts.system
    wine = f", Wine {system.wine}" if system.wine else ""
    yield "System", f"{system.os} {system.version} {system.machine}{wine}"


def caches(facts: Facts) -> str:
    found = [f"{size(c.size_bytes)} in {c.path}" for c in facts.caches if c.size_bytes]
    return "; ".join(found) or "empty"


def gpu_name(gpu: Gpu) -> str:
    """ "NVIDIA GeForce RTX 4090 (8.9)"."""
    kind = gpu.compute_capability or gpu.architecture
    return gpu.name + (f" ({kind})" if kind else "")


def _triton(facts: Facts, triton: Triton) -> str:
    owner = facts.distribution(triton.distribution or "")
    return f"{owner.name} {owner.version}" if owner else triton.version or "unknown version"


def _python(target: Interpreter) -> str:
    read = "(its files were read; it was not started)" if target.started is False else ""
    words = (target.version, f"({target.kind})", target.executable, read)
    return " ".join(filter(None, words))


def _gpus(facts: Facts) -> Iterator[str]:
    """The GPUs and drivers. That there is none is known only where a driver was asked."""
    yield from map(gpu_name, facts.gpus)
    failed = [f"driver: {d.error}" for d in facts.drivers if d.error and not d.version]
    if failed and not facts.gpus:
        yield _LACKING["GPU"]
    drivers = (*(f"driver {d.version}" for d in facts.drivers if d.version), *failed)
    if drivers:
        yield ", ".join(drivers)


def _cuda(facts: Facts) -> str:
    toolkits = [t for t in facts.cuda_toolkits if t.exists]
    parts = [f"{t.version or 'unknown version'} ({t.layout})" for t in toolkits]
    if facts.torch and facts.torch.cuda:
        parts.insert(0, f"torch built for {facts.torch.cuda}")
    return ", ".join(dict.fromkeys(parts))


def _compiler(facts: Facts) -> str:
    found = [c for c in facts.compilers if c.flaw is None]
    parts = [f"{_COMPILERS.get(c.family, c.family)} ({c.source})" for c in found if c.chosen]
    parts += [f"MSVC {m.version}" for m in facts.msvc]
    parts += [_COMPILERS.get(c.family, c.family) for c in found if not c.chosen]
    return ", ".join(dict.fromkeys(parts))
