"""Machines for tests: folders, variables and a registry that are none of this computer's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tritonwin.support.pip import Pip
from tritonwin.system.host import Environment, Host
from tritonwin.system.registry import MemoryRegistry, Registry


def fake_host(
    tmp: Path,
    env: Mapping[str, str] | None = None,
    registry: Registry | None = None,
    *,
    windows: bool = True,
) -> Host:
    """A machine whose home and current folder are `tmp`, with nothing of the real one."""
    return Host(
        Environment(dict(env or {}), windows=windows),
        registry or MemoryRegistry(),
        cwd=tmp,
        home=tmp,
        windows=windows,
    )


def no_pip() -> Pip:
    raise AssertionError("no pip is needed here")
