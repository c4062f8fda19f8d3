"""What rungs are run in and with, as the facts suggest it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tritonwin.facts.records import Facts
from tritonwin.verify.demands import Machine, gpu_of, has_driver
from tritonwin.verify.model import RungResult

DEFAULT_ARCH = 80  # where there is no GPU: every CUDA and every Triton of today knows Ampere
# bytes of a GPU that several rungs can share; a card of "24 GB" says that it has 23.99 GiB
_MUCH_MEMORY = 23 * 2**30
_MOST_WORKERS = 8


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What rungs are run in and with.

    Attributes:
        compiler: a C compiler that takes gcc's options; None: there is none that we can drive.
        arch: compute capability without its dot, for which kernels are compiled: 89.
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
    timeout: float | None = None
    workers: int = 2
    forced: bool = False
    known: tuple[RungResult, ...] = ()

    def machine(self, *, on_gpu: bool) -> Machine:
        """What demands are held against: the GPU, or the architecture that was asked for."""
        gpu = gpu_of(self.facts) if on_gpu else None
        asked = f"{self.arch // 10}.{self.arch % 10}"
        return Machine(
            facts=self.facts,
            compiler=self.compiler,
            driver=self.driver,
            capability=(gpu and gpu.compute_capability) or asked,
        )

    @property
    def user_cache(self) -> str | None:
        """Triton's cache folder of the user, which no rung but `user-cache` touches."""
        return next((c.path for c in self.facts.caches if c.kind == "triton"), None)


def setting(
    facts: Facts,
    environment: Mapping[str, str],
    *,
    arch: int | None = None,
    timeout: float | None = None,
    forced: bool = False,
) -> Setting:
    """The setting that the facts suggest: the GPU's architecture, Triton's own compiler.

    Raises:
        ValueError: the facts name no target.
    """
    if facts.target is None:
        raise ValueError("no target interpreter")
    gpu = gpu_of(facts)
    found = int((gpu.compute_capability or "").replace(".", "")) if gpu else DEFAULT_ARCH
    return Setting(
        facts=facts,
        python=facts.target.executable,
        environment=environment,
        compiler=_compiler(facts),
        arch=arch or found,
        driver=has_driver(facts),
        timeout=timeout,
        workers=_workers(facts),
        forced=forced,
    )


def _compiler(facts: Facts) -> str | None:
    if facts.triton and facts.triton.tinycc:
        return facts.triton.tinycc
    named = (c.path for c in facts.compilers if c.family in {"gcc", "clang"} and c.flaw is None)
    return next(named, None)


def _workers(facts: Facts) -> int:
    gpu = gpu_of(facts)
    memory = gpu.memory_bytes or 0 if gpu else _MUCH_MEMORY
    if memory < _MUCH_MEMORY:
        return 2
    # each imports torch, which keeps one processor busy for seconds
    return min(_MOST_WORKERS, max(2, (facts.system.cpu_count or 1) // 2))
