"""Settings of Windows, and the interpreter itself."""

from __future__ import annotations

from collections.abc import Iterator

from tritonwin.facts.model import Facts, Interpreter
from tritonwin.problems.check import Check, NotApplicable, finding, need_target, python_series
from tritonwin.problems.model import Finding
from tritonwin.support import matrix

MAX_PATH = 260
# What Triton appends to its cache folder: \<52 characters>\tmp.pid_NNNNN_<36>\<kernel name>;
# inductor puts \triton\0 before it, and kernel names of fused graphs reach 100 characters and more.
_CACHE_TAIL = {"triton": 140, "inductor": 150}
# flash-attn's longest path inside a source tree is 177 without composable_kernel, pip puts
# pip-install-xxxxxxxx_<40>\flash-attn_<36>\ before it.
_BUILD_TAIL = 200


def _long_paths_on(facts: Facts) -> bool:
    if facts.system.long_paths is None:
        raise NotApplicable("the long path setting is not known")
    return facts.system.long_paths


def long_paths_off(facts: Facts) -> Iterator[Finding]:
    if not _long_paths_on(facts):
        where = facts.system.sources.get("long_paths", "registry")
        yield finding("long-paths-off", "LongPathsEnabled is not 1", where)


def max_path_260(facts: Facts) -> Iterator[Finding]:
    if _long_paths_on(facts):
        return
    for cache in facts.caches:
        if cache.longest_path >= MAX_PATH:
            yield finding(
                "max-path-260",
                f"a path in the {cache.kind} cache has {cache.longest_path} characters, "
                f"{MAX_PATH - 1} are allowed while long paths are off",
                cache.path,
                cache=cache.path,
            )
        elif len(cache.path) + _CACHE_TAIL[cache.kind] >= MAX_PATH:
            yield finding(
                "max-path-260",
                f"the {cache.kind} cache folder has {len(cache.path)} characters; the files below "
                f"it need about {_CACHE_TAIL[cache.kind]} more, and {MAX_PATH - 1} are allowed",
                cache.source,
                certainty="likely",
                severity="warning",
                cache=cache.path,
            )


def build_path_too_long(facts: Facts) -> Iterator[Finding]:
    if _long_paths_on(facts):
        return
    temp = facts.system.temp or ""
    # the usual ...\AppData\Local\Temp of a user name of up to 20 characters
    if len(temp) > len(r"C:\Users\AppData\Local\Temp") + 20:
        yield finding(
            "build-path-too-long",
            f"TEMP has {len(temp)} characters; a source build below it needs up to {_BUILD_TAIL}",
            facts.system.sources.get("temp", "TEMP"),
            certainty="likely",
            severity="info",
            path=temp,
        )


def git_long_paths(facts: Facts) -> Iterator[Finding]:
    if facts.system.git_long_paths is None:
        raise NotApplicable("Git for Windows is not installed")
    if not facts.system.git_long_paths:
        yield finding(
            "git-long-paths",
            "git's core.longpaths is not true: checkouts with names over 260 characters fail",
            facts.system.sources.get("git_long_paths", "gitconfig"),
            severity="info",
        )


def app_control(facts: Facts) -> Iterator[Finding]:
    if facts.system.smart_app_control is None:
        raise NotApplicable("no Smart App Control on this Windows")
    if facts.system.smart_app_control == "on":
        yield finding(
            "app-control-blocks-dll",
            "Smart App Control is on; libtriton.pyd and compiled kernels are not signed",
            facts.system.sources.get("smart_app_control", "registry"),
            certainty="possible",
            severity="warning",
        )


def python_unsupported(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    where = target.executable
    for reason in _unsupported(target):
        yield finding("python-unsupported", reason, where)
    if facts.windows and target.free_threaded and _only_tinycc(facts):
        yield finding(
            "python-unsupported",
            "free-threaded Python: the bundled TinyCC cannot compile its headers, "
            "and no other C compiler was found",
            where,
        )
    if facts.windows and target.machine and target.machine.upper() == "ARM64":
        yield finding(
            "python-unsupported",
            "this Python is an ARM64 program: triton-windows has wheels for it from 3.8 on "
            "(Python 3.11 and later), torch has no CUDA build for it",
            where,
            certainty="likely",
            severity="warning",
        )
    if target.kind == "store":
        yield finding(
            "python-unsupported",
            "this Python is a packaged app of the Microsoft Store",
            where,
            certainty="likely",
            severity="warning",
        )


def _unsupported(target: Interpreter) -> Iterator[str]:
    if target.bits == 32:
        yield "this Python is a 32-bit program; torch and Triton exist for 64 bit only"
    if target.implementation and target.implementation.lower() != "cpython":
        yield f"this is {target.implementation}; the wheels are made for CPython"
    if target.version:
        supported = {p for r in matrix.load().releases for p in r.pythons}
        if python_series(target) not in supported:
            yield f"no triton-windows wheel exists for Python {python_series(target)}"


def _only_tinycc(facts: Facts) -> bool:
    others = any(c.family != "tinycc" and c.flaw is None for c in facts.compilers)
    return not others and not any(t.compiler for t in facts.msvc)


def mixed_environments(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    if len(target.managers) > 1:
        yield finding(
            "mixed-environments",
            f"this environment carries marks of {' and '.join(target.managers)}",
            target.executable,
            certainty="likely",
            severity="warning",
        )
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        variable = facts.variable(name)
        if variable and not _same_place(variable.value, target) and _foreign(name, facts):
            yield finding(
                "mixed-environments",
                f"{name} names {variable.value}, but this Python belongs to {target.prefix}",
                f"variable {name}",
                certainty="likely",
                severity="warning",
                variable=name,
            )
    home = facts.variable("PYTHONHOME")
    if home and target.pth is None and not _same_place(home.value, target):
        yield finding(
            "mixed-environments",
            f"PYTHONHOME makes this Python take its library from {home.value}",
            "variable PYTHONHOME",
            variable="PYTHONHOME",
        )


def _foreign(variable: str, facts: Facts) -> bool:
    """An activated environment is odd for an embedded Python and for one of another manager.

    Conda's base is not: `conda init` activates it in every shell, and a venv is put on top of it.
    """
    target = need_target(facts)
    conda = facts.variable("CONDA_DEFAULT_ENV")
    if variable == "CONDA_PREFIX" and conda and conda.value == "base":
        return False
    venv = facts.variable("VIRTUAL_ENV")
    if variable == "CONDA_PREFIX" and venv and _same_place(venv.value, target):
        return False
    if target.kind == "embedded":
        return True
    return (variable, target.kind) in {("VIRTUAL_ENV", "conda"), ("CONDA_PREFIX", "venv")}


def _same_place(folder: str, target: Interpreter) -> bool:
    def plain(path: str | None) -> str:
        return (path or "").rstrip("\\/").replace("/", "\\").lower()

    return plain(folder) in {plain(target.prefix), plain(target.base_prefix)}


def wrong_interpreter(facts: Facts) -> Iterator[Finding]:
    target = need_target(facts)
    if facts.triton is not None:
        return
    for other in facts.interpreters:
        names = [n for n in ("triton-windows", "triton") if n in other.packages]
        if names and other.executable.lower() != target.executable.lower():
            yield finding(
                "wrong-interpreter",
                f"{names[0]} {other.packages[names[0]]} is installed in {other.executable}, "
                f"not in {target.executable}",
                other.source,
                path=other.executable,
                distribution=names[0],
            )
            return


CHECKS = (
    Check(
        id="python-unsupported",
        title="Python is a version and kind that Triton has wheels for",
        run=python_unsupported,
        windows_only=False,
    ),
    Check(
        id="mixed-environments",
        title="one environment manager is in charge",
        run=mixed_environments,
        windows_only=False,
    ),
    Check(
        id="wrong-interpreter",
        title="Triton is in this Python and not in another one",
        run=wrong_interpreter,
        windows_only=False,
    ),
    Check(
        id="app-control-blocks-dll",
        title="Smart App Control lets unsigned libraries load",
        run=app_control,
    ),
    Check(id="long-paths-off", title="Windows allows long paths", run=long_paths_off),
    Check(id="max-path-260", title="cache paths stay below 260 characters", run=max_path_260),
    Check(
        id="build-path-too-long",
        title="the temporary folder leaves room for source builds",
        run=build_path_too_long,
    ),
    Check(id="git-long-paths", title="git allows long paths", run=git_long_paths),
)
