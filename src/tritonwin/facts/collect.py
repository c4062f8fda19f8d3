"""All facts of this machine: every collector in its turn, none able to spoil the others.

What takes long waits for other processes (the target, the drivers, vswhere), so those run side by
side in threads; what reads the target's files follows when the target is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from tritonwin import __version__
from tritonwin.facts.caches import read_caches
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.loading import dll_search, read_extensions, read_runtime_dlls
from tritonwin.facts.gpu import read_gpus
from tritonwin.facts.history import read_patch_record, read_proven
from tritonwin.facts.interpreters import find_interpreters, find_target
from tritonwin.facts.packages import read_shadows
from tritonwin.facts.records import (
    CollectionError,
    Distribution,
    Facts,
    Interpreter,
    System,
)
from tritonwin.facts.system import read_system, read_variables
from tritonwin.facts.target import examine
from tritonwin.facts.toolchain.compilers import find_compilers
from tritonwin.facts.toolchain.cuda import find_cuda_toolkits
from tritonwin.facts.toolchain.msvc import find_msvc, find_windows_sdks
from tritonwin.facts.toolchain.python_dev import find_python_dev
from tritonwin.facts.toolchain.rocm import find_rocm
from tritonwin.facts.torch_triton import read_torch, read_triton
from tritonwin.system.files import silent_places
from tritonwin.system.host import Host, data_folder
from tritonwin.system.waiting import answered, waiting_threads

T = TypeVar("T")

_DRIVER_PATIENCE = 10.0  # seconds; a driver that is well answers in one


def collect(
    *,
    python: str | None = None,
    app: Path | None = None,
    timeout: float = 30,
    host: Host | None = None,
    may_start: Callable[[str], bool] = lambda _: False,
) -> Facts:
    """Read everything known of this machine and of one interpreter on it.

    Args:
        python: the interpreter; chosen by `find_target` when None.
        app: an application's folder, whose interpreter is meant.
        timeout: seconds for each program that is started.
        host: the machine as the finders shall see it; this one when None.
        may_start: asked whether an interpreter may be started that was found for the current folder
            alone. Otherwise its files are read.

    Raises:
        TargetError: there is no such interpreter, or it cannot be examined.
    """
    host = host or Host.this_machine(app)
    choice = answered(lambda: find_target(host, python, app))
    reads = choice.planted and not may_start(choice.executable)
    guard = _Guard()
    patience = min(timeout, _DRIVER_PATIENCE)
    with waiting_threads() as threads:
        target = threads.submit(
            answered,
            lambda: examine(choice.executable, host, None if reads else timeout),
        )
        gpus = threads.submit(guard.call, "gpus", lambda: read_gpus(host, patience), ((), ()))
        msvc = threads.submit(guard.call, "msvc", lambda: find_msvc(host), ())
        facts = _of_machine(host, guard)
        examined = replace(threads.result(target), source=choice.source, chosen_by=choice.chosen_by)
        facts = _of_target(examined, host, facts, guard)
        found, drivers = threads.result(gpus)
        return replace(
            facts,
            gpus=found,
            drivers=drivers,
            msvc=threads.result(msvc),
            errors=guard.all_errors(),
        )


@dataclass
class _Guard:
    """Runs collectors; one that raises leaves its part empty and its error on record."""

    errors: list[CollectionError] = field(default_factory=list)

    def call(self, name: str, collector: Callable[[], T], empty: T) -> T:
        try:
            return answered(collector)
        except Exception as error:  # noqa: BLE001 - the other facts are still worth having
            text = f"{type(error).__name__}: {error}"
            self.errors.append(CollectionError(collector=name, error=text))
            return empty

    def all_errors(self) -> tuple[CollectionError, ...]:
        """Those of the collectors, in a fixed order, and the drives that do not answer."""
        silent = (f"this drive does not answer: {place}" for place in silent_places())
        drives = (CollectionError(collector="disk", error=text) for text in silent)
        return tuple(sorted((*self.errors, *drives), key=lambda error: error.collector))


def _of_machine(host: Host, guard: _Guard) -> Facts:
    unknown = System(os="windows" if host.windows else "other", version="", machine="")
    return Facts(
        tool_version=__version__,
        system=guard.call("system", lambda: read_system(host), unknown),
        variables=guard.call("variables", lambda: read_variables(host), ()),
        interpreters=guard.call("interpreters", lambda: find_interpreters(host), ()),
        windows_sdks=guard.call("windows_sdks", lambda: find_windows_sdks(host), ()),
    )


def _of_target(target: Interpreter, host: Host, facts: Facts, guard: _Guard) -> Facts:
    none: tuple[Distribution, ...] = ()
    data = data_folder(host.env)
    distributions = guard.call("distributions", lambda: read_distributions(target), none)
    triton = guard.call("triton", lambda: read_triton(target, distributions), None)
    torch = guard.call("torch", lambda: read_torch(target, distributions), None)
    search = answered(lambda: dll_search(target, torch, host))
    return replace(
        facts,
        target=target,
        distributions=distributions,
        torch=torch,
        triton=triton,
        patch=guard.call("patch", lambda: read_patch_record(data, triton), None),
        python_dev=guard.call("python_dev", lambda: find_python_dev(target, host), None),
        extensions=guard.call("extensions", lambda: read_extensions(target, torch, search), ()),
        cuda_toolkits=guard.call("cuda", lambda: find_cuda_toolkits(target, host), ()),
        compilers=guard.call("compilers", lambda: find_compilers(target, host), ()),
        rocm=guard.call("rocm", lambda: find_rocm(target, host), ()),
        runtime_dlls=guard.call("runtime_dlls", lambda: read_runtime_dlls(target, host), ()),
        caches=guard.call("caches", lambda: read_caches(target, host, search), ()),
        shadows=guard.call("shadows", lambda: read_shadows(target, host), ()),
        proven=guard.call("proven", lambda: read_proven(target, host.env), None),
    )
