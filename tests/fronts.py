"""The local page, served over real sockets for a machine of our own making."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from fix_world import World
from page_client import PageClient

from tritonwin.front.desk import Desk, Setting
from tritonwin.front.pages import Pages
from tritonwin.front.server import LocalServer
from tritonwin.remedies.fix import FixOptions
from tritonwin.remedies.install import InstallOptions


class Front(PageClient):
    """A server with its desk, and the client that knows its secret."""

    def __init__(self, world: World) -> None:
        self.ended = threading.Event()
        setting = Setting(
            collect=lambda host: world.collect(),
            host=lambda: world.host,
            fix=FixOptions(),
            install=InstallOptions(requests=(), offline=True),
        )
        self.desk = Desk(setting, lambda: not self.ended.is_set())
        self.server = LocalServer(lambda request: self.pages.answer(request), self.desk.version)
        self.pages = Pages(desk=self.desk, root=self.server.root, end=self.ended.set)
        super().__init__(self.server.address, self.server.root)


@contextmanager
def served(world: World) -> Iterator[Front]:
    front = Front(world)
    threads = [
        threading.Thread(target=front.server.serve_forever, args=(0.05,), daemon=True),
        threading.Thread(target=front.desk.run, daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield front
    finally:
        front.ended.set()
        front.server.closing = True
        front.server.shutdown()
        front.server.server_close()
        threads[1].join(60)
        assert not threads[1].is_alive()
