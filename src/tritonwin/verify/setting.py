"""The setting that rungs run in, as the facts suggest it, and the rungs that it rules out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tritonwin.facts.records import Facts, Gpu
from tritonwin.support import matrix, packages
from tritonwin.support.versions import fits, older, parse
from tritonwin.verify.records import Rung, RungResult, RungState

DEFAULT_ARCH = 80  # where there is no GPU: every CUDA and every Triton of today knows Ampere
# bytes of a GPU that several rungs can share; a card of "24 GB" says that it has 23.99 GiB
_MUCH_MEMORY = 23 * 2**30
_MOST_WORKERS = 8


@dataclass(frozen=True, kw_only=True)
class ProofSetting:
    """The setting that rungs run in.

    Attributes:
        compiler: a C compiler that takes gcc's options; None: there is none that we can drive.
        arch: compute capability without its dot, for which kernels are compiled: 89.
        chip: of AMD, for which they are compiled as well: "gfx1100".
        driver: whether an NVIDIA driver is there, which the helper module is linked with.
        timeout: seconds after which any rung is given up; None: each has a limit of its own.
        workers: how many rungs run side by side.
        forced: what the matrix says this machine cannot do is tried all the same.
        known: results of rungs that are not tried again.
    """

    facts: Facts
    python: str
    environment: Mapping[str, str]
    compiler: str | None
    arch: int
    driver: bool
    chip: str | None = None
    timeout: float | None = None
    workers: int = 2
    forced: bool = False
    known: tuple[RungResult, ...] = ()

    def capability(self, rung: Rung) -> str:
        """The compute capability that a rung is about: the GPU's, or the one asked for."""
        gpu = gpu_of(self.facts) if "gpu" in rung.demands else None
        return (gpu and gpu.compute_capability) or f"{self.arch // 10}.{self.arch % 10}"

    @property
    def driver_in_python(self) -> bool:
        """Triton compiles nothing: `tritonwin driver on`."""
        triton = self.facts.triton
        return triton is not None and triton.python_driver is not None

    @property
    def user_cache(self) -> str | None:
        """Triton's cache folder of the user, which no rung but `user-cache` touches."""
        return next((c.path for c in self.facts.caches if c.kind == "triton"), None)


def setting_for(
    facts: Facts,
    environment: Mapping[str, str],
    *,
    arch: int | None = None,
    chip: str | None = None,
    timeout: float | None = None,
    forced: bool = False,
) -> ProofSetting:
    """The setting that the facts suggest: the GPU's architecture, Triton's own compiler.

    Raises:
        ValueError: the facts name no target.
    """
    if facts.target is None:
        raise ValueError("no target interpreter")
    gpu = gpu_of(facts)
    found = int((gpu.compute_capability or "").replace(".", "")) if gpu else DEFAULT_ARCH
    driver = facts.nvidia_driver
    return ProofSetting(
        facts=facts,
        python=facts.target.executable,
        environment=environment,
        compiler=_c_compiler(facts),
        arch=arch or found,
        driver=driver is not None and driver.error is None,
        chip=chip or (facts.amd_card.architecture if facts.amd_card else None),
        timeout=timeout,
        workers=_workers(gpu, facts.system.cpu_count),
        forced=forced,
    )


def gpu_of(facts: Facts) -> Gpu | None:
    """The GPU that Triton takes: NVIDIA's first whose compute capability is known."""
    return next((gpu for gpu in facts.nvidia_gpus if gpu.compute_capability), None)


def _c_compiler(facts: Facts) -> str | None:
    if facts.triton and facts.triton.tinycc:
        return facts.triton.tinycc
    named = (c.path for c in facts.compilers if c.family in {"gcc", "clang"} and c.flaw is None)
    return next(named, None)


def _workers(gpu: Gpu | None, processors: int | None) -> int:
    if gpu and (gpu.memory_bytes or 0) < _MUCH_MEMORY:
        return 2
    # each imports torch, which keeps one processor busy for seconds
    return min(_MOST_WORKERS, max(2, (processors or 1) // 2))


# -- demands


def obstacle(rung: Rung, setting: ProofSetting) -> tuple[RungState, str] | None:
    """The reason not to try a rung in this setting; None if there is none."""
    if rung.compiles and setting.driver_in_python:
        return "not-applicable", "not needed: Triton's driver runs in Python (tritonwin driver)"
    for package in rung.packages:
        if setting.facts.distribution(package) is None:
            return "not-installed", f"{package} is not installed"
    for demand in rung.demands:
        word, _, value = demand.partition(":")
        if word in {"torch", "torch-cuda"} and setting.facts.torch is None:
            return "not-installed", "torch is not installed"
        if reason := _lacking(word, value or (rung.packages or ("",))[-1], setting, rung):
            return "not-applicable", reason
    return None


def _lacking(word: str, value: str, setting: ProofSetting, rung: Rung) -> str | None:
    """The reason that a word of the table's `demands` is not met; None: it is."""
    facts, capability = setting.facts, setting.capability(rung)
    match word:
        case "compiler" if setting.compiler is None:
            return "no TinyCC, gcc or clang was found to try it with"
        case "cxx-compiler":
            return _no_cxx_compiler(facts)
        case "amd-chip" | "amd-card":
            return _no_hip(facts, word, setting.chip)
        case "driver" | "gpu" if not setting.driver or (word == "gpu" and gpu_of(facts) is None):
            return _no_nvidia(facts, setting)
        case "generation" | "tensor-cores":
            return _too_old(facts, capability, dots=word == "tensor-cores")
        case "dtype":
            compiled_for = "this is" if "gpu" in rung.demands else "kernels are compiled for"
            return _no_dtype(facts, capability, value, compiled_for)
        case "torch-cuda" if facts.torch and not facts.torch.cuda:
            return f"torch {facts.torch.version} is built without CUDA"
        case "package-gpu":
            package = packages.load().get(value)
            if package and package.capability and not fits(capability, package.capability):
                works = f"{value} works on compute capability {package.capability}"
                return f"{works}, this is {capability}"
    return None


def _no_nvidia(facts: Facts, setting: ProofSetting) -> str:
    if facts.amd_card:
        return f"for NVIDIA's cards alone: it was not tried on {facts.amd_card.name}"
    return f"no NVIDIA {'GPU' if setting.driver else 'driver'} is here"


def _no_hip(facts: Facts, word: str, chip: str | None) -> str | None:
    if chip is None or word == "amd-chip":
        return None if chip else "no AMD card whose chip is known is here"
    driver = next((d for d in facts.drivers if d.vendor == "amd"), None)
    if facts.amd_card is None or driver is None:
        return "no AMD card is here"
    wheels = any(rocm.kind == "rocm-wheels" for rocm in facts.rocm)
    return None if wheels or not driver.error else f"AMD's driver: {driver.error}"


def _no_cxx_compiler(facts: Facts) -> str | None:
    if facts.windows:
        found = any(m.compiler and not m.missing for m in facts.msvc)
        return None if found else "no cl.exe is here; only the CPU path of torch.compile needs it"
    found = any(c.family in {"gcc", "clang"} and c.flaw is None for c in facts.compilers)
    return None if found else "no C++ compiler was found"


def _too_old(facts: Facts, capability: str, *, dots: bool) -> str | None:
    row = matrix.load().generation(capability)
    version = facts.triton.version if facts.triton else None
    if row is None or version is None or parse(version) is None:
        return None
    works = row.works(version)
    if works == "whole" or (works == "partly" and not dots):
        return None
    reason = (
        f"dot products do not work on it with Triton {version}"
        if works == "partly"
        else f"Triton {version} does not compile for it"
    )
    return f"{row.name} ({row.examples}): {reason}. {row.advice or ''}".strip()


def _no_dtype(facts: Facts, capability: str, name: str, here: str) -> str | None:
    row = matrix.load().dtype(name)
    if not older(capability, row.capability):
        return None
    triton = facts.triton
    # with its post-release, which `triton.__version__` lacks
    owner = facts.distribution((triton and triton.distribution) or "")
    if row.emulated_by((owner.version if owner else triton and triton.version) or ""):
        return None
    needs = f"{name} needs compute capability {row.capability}"
    return f"{needs}, {here} {capability}: {row.text}"
