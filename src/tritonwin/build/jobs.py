"""Number of compilers at once, from free memory and the peak of one; time and disk.

cicc, the heart of nvcc, sets the peak: 3.3 to 4.1 GiB for a forward kernel of FlashAttention, 6.0
to 6.6 GiB for a backward one, once for every architecture that one nvcc compiles side by side. The
peak lasts a quarter of a compile at most, but jobs that start together peak together.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tritonwin.build.plan import GIB, CompilerMemory
from tritonwin.build.recipe import BuildCost, MemoryModel
from tritonwin.facts.system import parse_meminfo
from tritonwin.support.choice import Choice, Obstacle, Reason
from tritonwin.system import winapi

RESERVE = 3 * GIB // 2  # for the system and what else runs
_CGROUP = Path("/sys/fs/cgroup")
_OVERHEAD = 90.0  # seconds for the environment, the configuration and the link
_UNPACKED = 4  # times the size of a compressed wheel
_MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Memory and cores that this process may use.

    Attributes:
        allocatable: bytes until an allocation fails: Windows' commit limit less what is committed;
            what is available elsewhere, within the limit of the container.
        physical: free bytes without paging.
        cores: that this process may run on.
    """

    allocatable: int | None
    physical: int | None
    cores: int


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """The number of compilers, and what they take."""

    jobs: int
    threads: int
    memory: CompilerMemory


def resources() -> Resources:
    """The resources of this machine, or of the container that this process runs in."""
    asked = winapi.memory()
    if asked is not None:
        free = min(asked.free, asked.free_commit)
        return Resources(allocatable=asked.free_commit, physical=free, cores=_cores())
    try:
        free = parse_meminfo(_read(Path("/proc/meminfo"))).free
    except (KeyError, IndexError, ValueError):
        return Resources(allocatable=None, physical=None, cores=_cores())
    limit = container_free(_CGROUP)
    free = free if limit is None else min(free, limit)
    return Resources(allocatable=free, physical=free, cores=_cores())


def container_free(root: Path) -> int | None:
    """Bytes below the memory limit of a control group (v2 or v1); None where there is none."""
    for limit_file, used_file, stat_file in (
        ("memory.max", "memory.current", "memory.stat"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat"),
    ):
        limit, used = (_number(root / name) for name in (limit_file, used_file))
        if limit is None or used is None or limit >= 2**60:
            continue
        # cached files count as used, and are released when memory is asked for
        cached = re.search(
            r"^(?:total_)?inactive_file (\d+)$", _read(root / stat_file), re.MULTILINE
        )
        return max(0, limit - used + (int(cached[1]) if cached else 0))
    return None


def _read(file: Path) -> str:
    """The content of a file of the kernel, whose size reads as 0."""
    try:
        return file.read_text("ascii", "replace")
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    text = _read(file).strip()
    return int(text) if text.isdecimal() and len(text) <= 20 else None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose(
    model: MemoryModel,
    have: Resources,
    *,
    files: int | None,
    archs: int,
    jobs: int | None = None,
    threads: int | None = None,
    gib_per_job: float | None = None,
) -> Choice[Jobs]:
    """Choose as many compilers as memory and cores allow; compute the peaks to expect.

    The bound never exceeds what may be allocated, unless the user asks for more jobs than fit.

    Args:
        files: that are compiled; more jobs are of no use.
        archs: that one nvcc may compile side by side; more threads are of no use.
        jobs, threads, gib_per_job: what the user asks for.
    """
    memory = _of_one(model, have, gib_per_job)
    fit = _that_fit(memory, have)
    wanted_threads = min(max(threads or 1, 1), max(archs, 1))
    most = max(1, min(have.cores // wanted_threads, files or have.cores))
    by_memory = most if fit is None else fit // wanted_threads
    chosen = jobs or max(1, min(most, by_memory))
    if threads is None and jobs is None and files and chosen == files:
        spare = min(have.cores, fit if fit is not None else have.cores) // chosen
        wanted_threads = min(max(spare, 1), max(archs, 1))
    memory = memory.at(chosen, wanted_threads)
    source = "the figure that was asked for" if gib_per_job else model.source
    refused = fit is not None and fit < 1 and jobs is None
    over = have.allocatable is not None and memory.bound > have.allocatable
    return Choice(
        value=Jobs(jobs=chosen, threads=wanted_threads, memory=memory),
        reasons=_reasons(
            chosen, wanted_threads, memory, most, archs, source=source, asked=jobs is not None
        ),
        warnings=(_too_many(chosen, memory),) if over and not refused else (),
        refusals=(_too_little(memory),) if refused else (),
    )


def _of_one(model: MemoryModel, have: Resources, gib_per_job: float | None) -> CompilerMemory:
    """The memory of one compiler."""
    return CompilerMemory(
        free=have.allocatable,
        reserve=RESERVE,
        base=round(model.base_gib * GIB),
        compiler=round((gib_per_job or model.compiler_gib) * GIB),
        together=model.together,
        bound=0,
        expected=0,
    ).at(1, 1)


def _that_fit(memory: CompilerMemory, have: Resources) -> int | None:
    """Compilers whose bound may be allocated and whose expected peak needs no paging."""
    if have.allocatable is None:
        return None
    room = have.allocatable - memory.reserve - memory.base
    bound = math.floor(room / memory.compiler)
    if have.physical is None or bound < 1:
        return max(bound, 0)
    share = (have.physical - memory.reserve - memory.base) / memory.compiler
    further = math.floor((share - 1) / memory.together) if share >= 1 else 0
    return max(1, min(bound, 1 + further))


def _reasons(
    jobs: int,
    threads: int,
    memory: CompilerMemory,
    most: int,
    archs: int,
    *,
    source: str,
    asked: bool,
) -> tuple[Reason, ...]:
    each = f"{memory.compiler / GIB:.1f} GiB a compiler"
    free = "unknown" if memory.free is None else f"{memory.free / GIB:.1f} GiB"
    reason = f"{each}, {free} free"
    if asked:
        reason = f"asked for ({reason})"
    elif jobs == most:
        reason += "; the cores, or the number of files, are the limit"
    why = "asked for or spare cores" if threads > 1 else "more threads multiply the memory of a job"
    if archs <= 1:
        why = "one architecture: a second thread would have nothing to do"
    return (
        Reason(name="jobs", value=str(jobs), reason=reason, flag="--jobs"),
        Reason(name="nvcc threads", value=str(threads), reason=why, flag="--nvcc-threads"),
        Reason(
            name="memory",
            value=f"about {memory.expected / GIB:.0f} GiB, never above {_bound(memory)} GiB",
            reason=f"not every compiler is at its worst at once; {source}",
            flag="--memory-per-job",
        ),
    )


def _bound(memory: CompilerMemory) -> int:
    """In GiB, and no less than it is."""
    return math.ceil(memory.bound / GIB)


def _too_many(jobs: int, memory: CompilerMemory) -> str:
    free = (memory.free or 0) / GIB
    return (
        f"{jobs} jobs may take {_bound(memory)} GiB and {free:.1f} GiB are free: "
        "compilers may be killed"
    )


def _too_little(memory: CompilerMemory) -> Obstacle:
    need = (memory.compiler + memory.base + memory.reserve) / GIB
    return Obstacle(
        problem="build-resource-limits",
        message=f"one compiler needs {need:.1f} GiB, and {(memory.free or 0) / GIB:.1f} are free",
        help="Close other programs, enlarge the page file, or try all the same: --jobs 1",
    )


def cpu_seconds(work: BuildCost, archs: int) -> float | None:
    """Time of all compilers together; None where nothing was measured."""
    return work.cpu_seconds + work.cpu_seconds_per_arch * archs or None


def seconds(
    work: BuildCost, archs: int, *, jobs: int, threads: int, cores: int, files: int | None
) -> float | None:
    """Wall time. The last files run alone: half a file's time is lost at the end."""
    cpu = cpu_seconds(work, archs)
    if cpu is None:
        return None
    together = max(1, min(jobs * min(threads, max(archs, 1)), cores))
    last = cpu / files / 2 if files and together > 1 else 0.0
    return _OVERHEAD + cpu / together + last


def disk(work: BuildCost, archs: int, downloads: int) -> int:
    """Bytes for source, objects, wheel and what is fetched."""
    mib = work.source_mib + work.object_mib + work.object_mib_per_arch * archs
    return mib * _MIB + downloads * (1 + _UNPACKED)
