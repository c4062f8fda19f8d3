"""How long a build takes and how much room it needs, from what was measured of its kind."""

from __future__ import annotations

from tritonwin.build.recipe import Work

_OVERHEAD = 90.0  # seconds for the environment, the configuration and the link
_UNPACKED = 4  # times the size of a compressed wheel
_MIB = 2**20


def cpu_seconds(work: Work, archs: int) -> float | None:
    """Of all compilers together; None where nothing was measured."""
    return work.cpu_seconds + work.cpu_seconds_per_arch * archs or None


def seconds(
    work: Work, archs: int, *, jobs: int, threads: int, cores: int, files: int | None
) -> float | None:
    """Wall time. The last files run alone: half a file's time is lost at the end."""
    cpu = cpu_seconds(work, archs)
    if cpu is None:
        return None
    together = max(1, min(jobs * min(threads, max(archs, 1)), cores))
    last = cpu / files / 2 if files and together > 1 else 0.0
    return _OVERHEAD + cpu / together + last


def disk(work: Work, archs: int, downloads: int) -> int:
    """Bytes for source, objects, wheel and what is fetched."""
    mib = work.source_mib + work.object_mib + work.object_mib_per_arch * archs
    return mib * _MIB + downloads * (1 + _UNPACKED)
