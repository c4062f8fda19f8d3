"""The Triton that an interpreter imports, and the caches that it fills."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.cache_entries import read_entries
from tritonwin.facts.caches import read_caches
from tritonwin.facts.choose_target import find_target
from tritonwin.facts.distributions import read_distributions
from tritonwin.facts.dlls.search import dll_search
from tritonwin.facts.model import Interpreter
from tritonwin.facts.packages import find_package
from tritonwin.facts.target import examine
from tritonwin.facts.torch_facts import read_torch
from tritonwin.patch.session import Session, place_of
from tritonwin.system.host import Host


def of_python(python: str | None, app: Path | None, timeout: float) -> Session:
    """The Triton that an interpreter imports.

    Raises:
        UserError: there is no such interpreter, or it has no Triton.
    """
    host = Host.this_machine(app)
    choice = find_target(host, python, app)
    target = replace(examine(choice.executable, host, timeout), source=choice.reason)
    found = find_package(target, "triton")
    if found is None or found.namespace:
        raise UserError(
            f"{target.executable} has no Triton",
            "Name the package folder itself, if it lies elsewhere: --triton DIR",
        )
    return Session(
        place=place_of(found.path, target.executable, host),
        target=target,
        helpers=partial(helper_entries, target, host),
    )


def helper_entries(target: Interpreter, host: Host) -> tuple[Path, ...]:
    """The entries of the caches that hold compiled helper modules of the target."""
    torch = read_torch(target, read_distributions(target))
    search = dll_search(target, torch, host)
    entries = read_entries(read_caches(target, host, search), target, search)
    return tuple(
        Path(e.path) for e in entries if e.kind == "helper" and e.helper and e.helper.usable
    )
