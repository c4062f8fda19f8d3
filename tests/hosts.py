"""Machines for tests: folders, variables and a registry that are none of this computer's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tritonwin.facts.redaction.identity import Identity
from tritonwin.support.pip import Pip
from tritonwin.system.host import Environment, Host
from tritonwin.system.registry import Registry, Value

# whose PC it is, where reports are redacted
JDOE = Identity(
    users=("jdoe",),
    homes=(r"C:\Users\jdoe",),
    hosts=("gpu-rig", "NAS01"),
    domains=("CORPNET",),
    companies=("Contoso Ltd",),
)


@dataclass(frozen=True)
class MemoryRegistry(Registry):
    data: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    def subkeys(self, key: str, *, view: int = 64) -> tuple[str, ...]:
        del view
        start = key.lower() + "\\"
        below = (stored[len(start) :] for stored in self.data if stored.lower().startswith(start))
        return tuple(dict.fromkeys(name.split("\\", 1)[0] for name in below))

    def values(self, key: str, *, view: int = 64) -> dict[str, Value]:
        del view
        wanted = key.lower()
        return next((dict(v) for k, v in self.data.items() if k.lower() == wanted), {})


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
        registry or Registry(),
        cwd=tmp,
        home=tmp,
        windows=windows,
    )


def no_pip() -> Pip:
    raise AssertionError("no pip is needed here")
