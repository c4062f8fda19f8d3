"""`tritonwin ui`: the page in the browser."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import replace

import click

from tritonwin.cli.options import TargetOptions, may_start, target_options
from tritonwin.errors import Exit

_GRACE = 10.0  # seconds without a page, as between two of them, until this ends
_ALONE = 900.0  # where no page says that it is open: before the first, and without JavaScript


@click.command("ui")
@target_options
@click.option(
    "--find-links",
    multiple=True,
    metavar="PLACE",
    help="Take wheels from this folder, list or page (repeatable).",
)
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is on this machine.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def command(
    *, target: TargetOptions, find_links: tuple[str, ...], offline: bool, no_browser: bool
) -> int:
    """Open a page for all this in the browser, which only you on this machine can open.

    Nothing is changed before you have seen the plan and agreed. Closing the page ends the
    program; a change that is being made then is finished first. Ctrl-C undoes it.

    \b
    Examples:
      tritonwin ui
      tritonwin ui --app C:\\ComfyUI_windows_portable
    """
    from tritonwin.facts.interpreters import find_target
    from tritonwin.front.desk import Desk, Setting
    from tritonwin.front.pages import Pages
    from tritonwin.front.server import LocalServer
    from tritonwin.output.terminal import print_note
    from tritonwin.remedies.fix import FixOptions
    from tritonwin.remedies.install import InstallOptions
    from tritonwin.system.host import Host

    host = Host.this_machine(target.app)
    choice = find_target(host, target.python, target.app)
    if choice.planted:
        may_start(choice.executable, needed=True)
        target = replace(target, python=choice.executable)
    setting = Setting(
        collect=lambda host: target.collect(host=host),
        host=lambda: Host.this_machine(target.app),
        fix=FixOptions(
            named=target.python is not None or target.app is not None,
            lists=find_links,
            offline=offline,
            timeout=target.timeout,
        ),
        install=InstallOptions(
            requests=(), lists=find_links, default_lists=not offline, offline=offline
        ),
    )
    ended = threading.Event()

    def present() -> bool:
        return not ended.is_set() and server.unseen() < (_GRACE if server.watched else _ALONE)

    desk = Desk(setting, present)
    server = LocalServer(lambda request: pages.answer(request), desk.version)
    pages = Pages(desk=desk, root=server.root, end=ended.set)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True
    ).start()
    try:
        print_note(f"The page: {server.address}")
        print_note("It opens once. Close it, or press Ctrl-C here, to end this program.")
        if not no_browser:
            _show(server.address)
        desk.run()
    finally:
        server.closing = True
        server.shutdown()
        server.server_close()
    return Exit.DONE


def _show(address: str) -> None:
    """Open the user's browser; where there is none, the address was printed."""
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            os.startfile(address)  # noqa: S606 - an address of our own
    elif sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        # without a screen it would start a browser in this terminal
        import webbrowser

        webbrowser.open(address)
