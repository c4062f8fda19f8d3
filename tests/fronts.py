"""The local page, served over real sockets for a machine of our own making."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fix_world import World, proof
from page_client import PageClient

from tritonwin.front.desk import Setting
from tritonwin.front.door import Door
from tritonwin.journal import Store
from tritonwin.remedies import fix as fixing
from tritonwin.remedies.fix import FixOptions
from tritonwin.remedies.install import InstallOptions


def repairable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine whose proof fails before a repair and passes after it, with its own store."""
    monkeypatch.setenv("TRITONWIN_HOME", str(tmp_path / "home"))
    made = World(tmp_path, iter([proof("failed"), proof("passed")]))
    made.store = Store.default()
    monkeypatch.setattr(fixing, "collect", made.collect)
    monkeypatch.setattr(fixing.ladder, "prove", made.prove)
    return made


def setting_of(world: World) -> Setting:
    return Setting(
        collect=lambda: (world.host, world.collect()),
        fix=FixOptions(),
        install=InstallOptions(requests=(), offline=True),
    )


class Front(PageClient):
    """The page, and the client that knows its secret."""

    def __init__(self, door: Door) -> None:
        self.door, self.desk, self.server, self.ended = door, door.desk, door.server, door.ended
        super().__init__(door.server.issue(), door.server.root)


@contextmanager
def served(world: World) -> Iterator[Front]:
    with Door(setting_of(world), watched=False) as door:
        worker = threading.Thread(target=door.desk.run, daemon=True)
        worker.start()
        try:
            yield Front(door)
        finally:
            door.ended.set()
            worker.join(60)
            assert not worker.is_alive()
