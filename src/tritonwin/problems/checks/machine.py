"""Settings of Windows, and the interpreter itself."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.amd import chip
from tritonwin.facts.records import Facts, Interpreter
from tritonwin.problems.check import Seen, check, need, need_target, python_series, seen
from tritonwin.support import matrix

MAX_PATH = 260
# What Triton appends to its cache folder: \<52 characters>\tmp.pid_NNNNN_<36>\<kernel name>;
# inductor puts \triton\0 before it, and kernel names of fused graphs reach 100 characters and more.
_CACHE_TAIL = {"triton": 140, "inductor": 150}
# flash-attn's longest path inside a source tree is 177 without composable_kernel, pip puts
# pip-install-xxxxxxxx_<40>\flash-attn_<36>\ before it.
_BUILD_TAIL = 200


def _long_paths_on(facts: Facts) -> bool:
    need(facts.system.long_paths is not None, "the long path setting is not known")
    return bool(facts.system.long_paths)


@check("max-path-260")
def max_path_260(facts: Facts) -> Iterator[Seen]:
    if _long_paths_on(facts):
        return
    for cache in facts.caches:
        if cache.longest_path >= MAX_PATH:
            yield seen(
                f"a path in the {cache.kind} cache has {cache.longest_path} characters, "
                f"{MAX_PATH - 1} are allowed while long paths are off",
                cache.path,
                cache=cache.path,
            )
        elif len(cache.path) + _CACHE_TAIL[cache.kind] >= MAX_PATH:
            yield seen(
                f"the {cache.kind} cache folder has {len(cache.path)} characters; the files below "
                f"it need about {_CACHE_TAIL[cache.kind]} more, and {MAX_PATH - 1} are allowed",
                cache.source,
                certainty="likely",
                severity="warning",
                cache=cache.path,
            )


@check("build-path-too-long")
def build_path_too_long(facts: Facts) -> Iterator[Seen]:
    if _long_paths_on(facts):
        return
    temp = facts.system.temp or ""
    # the usual ...\AppData\Local\Temp of a user name of up to 20 characters
    if len(temp) > len(r"C:\Users\AppData\Local\Temp") + 20:
        yield seen(
            f"TEMP has {len(temp)} characters; a source build below it needs up to {_BUILD_TAIL}",
            facts.system.sources.get("temp", "TEMP"),
            path=temp,
        )


@check("python-unsupported")
def python_unsupported(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    where = target.executable
    card = chip(facts.amd_card.architecture) if facts.amd_card and facts.windows else None
    if target.bits == 32:
        text = "this Python is a 32-bit program; torch and Triton exist for 64 bit only"
        yield seen(text, where)
    if target.implementation and target.implementation.lower() != "cpython":
        yield seen(f"this is {target.implementation}; the wheels are made for CPython", where)
    if target.version:
        python = python_series(target)
        if python not in {p for r in matrix.load().releases for p in r.pythons}:
            yield seen(f"no triton-windows wheel exists for Python {python}", where)
        elif card and card.family and python not in matrix.load().amd.pythons:
            yield seen(f"AMD publishes no torch for Python {python} on Windows", where)
    others = any(c.family != "tinycc" and c.flaw is None for c in facts.compilers)
    only_tinycc = not others and not any(t.compiler for t in facts.msvc)
    if facts.windows and target.free_threaded and only_tinycc:
        yield seen(
            "free-threaded Python: the bundled TinyCC cannot compile its headers, "
            "and no other C compiler was found",
            where,
        )
    whole = facts.torch and (not facts.nvidia_gpus or (facts.torch.cuda and facts.triton))
    if facts.windows and target.machine and target.machine.upper() == "ARM64" and not whole:
        yield seen(
            "this Python is an ARM64 program: triton-windows has wheels for it from 3.8 on "
            "(Python 3.11 and later), torch for CUDA comes from an index of NVIDIA's own",
            where,
            certainty="likely",
            severity="warning" if facts.nvidia_gpus else "info",
        )
    if target.kind == "store":
        yield seen(
            "this Python is a packaged app of the Microsoft Store",
            where,
            certainty="likely",
            severity="warning",
        )


@check("arm64-emulated-python")
def arm64_emulated(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    if (target.machine or "").upper() != "AMD64":
        return
    if facts.system.machine.upper() == "ARM64":
        need(facts.nvidia_gpus, "emulated, and no NVIDIA GPU is here to compute on")
        yield seen("this PC is ARM64, the Python is for x64", target.executable)
        return
    for gpu in facts.nvidia_gpus:
        if gpu.compute_capability == "12.1":  # in PCs with an ARM64 processor only
            yield seen(
                f"{gpu.name} has compute capability 12.1: with Windows it comes with an ARM64 "
                "processor, and this Python is for x64",
                gpu.source,
                certainty="likely",
            )


@check("mixed-environments")
def mixed_environments(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    if len(target.managers) > 1:
        yield seen(
            f"this environment carries marks of {' and '.join(target.managers)}",
            target.executable,
            certainty="likely",
            severity="warning",
        )
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        variable = facts.variable(name)
        if variable and not _same_place(variable.value, target) and _foreign(name, facts):
            yield seen(
                f"{name} names {variable.value}, but this Python belongs to {target.prefix}",
                variable,
                certainty="likely",
                severity="warning",
            )
    home = facts.variable("PYTHONHOME")
    if home and target.pth is None and not _same_place(home.value, target):
        yield seen(f"PYTHONHOME makes this Python take its library from {home.value}", home)


def _foreign(variable: str, facts: Facts) -> bool:
    """An activated environment is odd for an embedded Python and for one of another manager.

    Conda's base is not: `conda init` activates it in every shell, and a venv is put on top of it.
    """
    target = need_target(facts)
    base, venv = facts.variable("CONDA_DEFAULT_ENV"), facts.variable("VIRTUAL_ENV")
    below = (base and base.value == "base") or (venv and _same_place(venv.value, target))
    if variable == "CONDA_PREFIX" and below:
        return False
    odd = {("VIRTUAL_ENV", "conda"), ("CONDA_PREFIX", "venv")}
    return target.kind == "embedded" or (variable, target.kind) in odd


def _same_place(folder: str, target: Interpreter) -> bool:
    def plain(path: str | None) -> str:
        return (path or "").rstrip("\\/").replace("/", "\\").lower()

    return plain(folder) in {plain(target.prefix), plain(target.base_prefix)}


@check("wrong-interpreter")
def wrong_interpreter(facts: Facts) -> Iterator[Seen]:
    target = need_target(facts)
    if facts.triton is not None:
        return
    for other in facts.interpreters:
        names = [n for n in ("triton-windows", "triton") if n in other.packages]
        if names and other.executable.lower() != target.executable.lower():
            yield seen(
                f"{names[0]} {other.packages[names[0]]} is installed in {other.executable}, "
                f"not in {target.executable}",
                other.source,
                path=other.executable,
                distribution=names[0],
            )
            return
