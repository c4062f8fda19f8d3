"""Number of compilers at once, from free memory and the peak of one; time and disk.

cicc, the heart of nvcc, sets the peak: 3.3 to 4.1 GiB for a forward kernel of FlashAttention, 6.0
to 6.6 GiB for a backward one. nvcc compiles its architectures one after the other (`--threads 1`).
The peak lasts a quarter of a compile at most, but jobs that start together peak together.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from tritonwin.build.recipe import BuildCost, MemoryModel
from tritonwin.build.records import GIB, CompilerMemory, Notes
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


def resources() -> Resources:
    """The resources of this machine, or of the container that this process runs in."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    asked = winapi.memory()
    if asked is not None:
        physical = min(asked.free, asked.free_commit)
        return Resources(allocatable=asked.free_commit, physical=physical, cores=cores)
    told = re.search(r"^MemAvailable: +(\d+) kB", _read(Path("/proc/meminfo")), re.MULTILINE)
    known = (int(told[1]) * 1024 if told else None, container_free(_CGROUP))
    free = min((each for each in known if each is not None), default=None)
    return Resources(allocatable=free, physical=free, cores=cores)


def container_free(group: Path) -> int | None:
    """Bytes below the memory limit of a control group; None where there is none."""
    texts = (_read(group / name).strip() for name in ("memory.max", "memory.current"))
    limit, used = (int(text) if re.fullmatch("[0-9]{1,20}", text) else None for text in texts)
    if limit is None or used is None:
        return None
    # cached files count as used, and are released when memory is asked for
    cached = re.search(r"^inactive_file (\d+)$", _read(group / "memory.stat"), re.MULTILINE)
    return max(0, limit - used + (int(cached[1]) if cached else 0))


def _read(file: Path) -> str:
    """The content of a file of the kernel, whose size reads as 0."""
    try:
        return file.read_text("ascii", "replace")
    except OSError:
        return ""


def choose(
    model: MemoryModel,
    have: Resources,
    notes: Notes,
    *,
    files: int | None,
    at_once: int = 0,
    asked: int | None = None,
) -> tuple[int, CompilerMemory]:
    """Choose as many compilers as memory and cores allow; compute the peaks to expect.

    The bound never exceeds what may be allocated, unless the user asks for more jobs than fit.

    Args:
        files: that are compiled; more jobs are of no use.
        at_once: of those side by side at most, unless all of them are; 0: any number.
        asked: the jobs that the user asks for.
    """
    one = CompilerMemory(
        free=have.allocatable,
        reserve=RESERVE,
        base=round(model.base_gib * GIB),
        compiler=round(model.compiler_gib * GIB),
        together=model.together,
        bound=0,
        expected=0,
    ).at(1)
    fit = _that_fit(one, have)
    most = max(1, min(have.cores, files or have.cores))
    fitting = most if fit is None else max(1, min(most, fit))
    chosen = asked or (min(fitting, at_once) if at_once and fitting < (files or 0) else fitting)
    memory = one.at(chosen)

    free = "unknown" if have.allocatable is None else f"{have.allocatable / GIB:.1f} GiB"
    reason = f"{memory.compiler / GIB:.1f} GiB a compiler, {free} free"
    if asked is not None:
        reason = f"asked for ({reason})"
    elif chosen in {most, at_once}:
        reason += "; the cores, or the number of files, are the limit"
    notes.because("jobs", str(chosen), reason, "--jobs")
    bound = math.ceil(memory.bound / GIB)
    notes.because(
        "memory",
        f"about {memory.expected / GIB:.0f} GiB, never above {bound} GiB",
        f"not every compiler is at its worst at once; {model.source}",
        "--jobs",
    )
    if fit is not None and fit < 1 and asked is None:
        need = (memory.compiler + memory.base + memory.reserve) / GIB
        notes.refuse(
            f"one compiler needs {need:.1f} GiB, and {free.removesuffix(' GiB')} are free",
            "Close other programs, enlarge the page file, or try all the same: --jobs 1",
            "build-resource-limits",
        )
    elif have.allocatable is not None and memory.bound > have.allocatable:
        notes.warnings.append(
            f"{chosen} jobs may take {bound} GiB and {free} are free: compilers may be killed"
        )
    return chosen, memory


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


def seconds(
    work: BuildCost, archs: int, *, jobs: int, cores: int, files: int | None
) -> float | None:
    """Wall time; None where nothing was measured.

    The last files run alone: half a file's time is lost at the end.
    """
    cpu = work.cpu_seconds + work.cpu_seconds_per_arch * archs
    if not cpu:
        return None
    together = max(1, min(jobs, cores))
    last = cpu / files / 2 if files and together > 1 else 0.0
    alone = 0.0 if files and jobs >= files else work.alone_seconds_per_arch * archs
    return _OVERHEAD + alone + (cpu - alone) / together + last


def disk(work: BuildCost, archs: int, downloads: int) -> int:
    """Bytes for source, objects, wheel and what is fetched."""
    mib = work.source_mib + work.object_mib + work.object_mib_per_arch * archs
    return mib * _MIB + downloads * (1 + _UNPACKED)
