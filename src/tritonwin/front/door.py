"""A desk and the server of its page, for as long as somebody is there."""

from __future__ import annotations

import os
import sys
import threading

from tritonwin.front.desk import Desk, Setting
from tritonwin.front.pages import Pages
from tritonwin.front.server import LocalServer

_GRACE = 10.0  # seconds without a page, as between two of them, until this ends
_ALONE = 900.0  # where no page says that it is open: before the first, and without JavaScript


class Door:
    """Serves the page while the block runs; `desk.run` then does the tasks.

    Args:
        watched: it ends when the page is closed; else when `ended` is set.
    """

    def __init__(self, setting: Setting, *, watched: bool = True) -> None:
        self.ended = threading.Event()
        self._watched = watched
        self.desk = Desk(setting, self._present)
        self.server = LocalServer(lambda *asked: pages.answer(*asked), lambda: self.desk.changes)
        pages = Pages(desk=self.desk, root=self.server.root, end=self.ended.set)

    def __enter__(self) -> Door:
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *ending: object) -> None:
        self.server.closing = True
        self.server.shutdown()
        self.server.server_close()

    def _present(self) -> bool:
        limit = _GRACE if self.server.watched else _ALONE
        return not self.ended.is_set() and not (self._watched and self.server.unseen() > limit)


def show(address: str) -> bool:
    """Open the user's browser; False where there is none."""
    if sys.platform == "win32":
        # webbrowser would look for others in the current folder
        try:
            os.startfile(address)  # noqa: S606 - an address of our own
        except OSError:
            return False
        return True
    if sys.platform != "darwin" and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return False  # one without a screen would start in this terminal
    import webbrowser

    return webbrowser.open(address)
