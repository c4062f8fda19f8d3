"""`tritonwin ui`: the page in the browser."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import TargetOptions, find_links_option, may_start, target_options
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.facts.records import Facts
    from tritonwin.front.desk import Setting


@click.command("ui")
@target_options
@find_links_option
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is on this machine.")
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def command(
    *, target: TargetOptions, lists: tuple[str, ...], offline: bool, no_browser: bool
) -> int:
    """Open a page for all this in the browser, which only you on this machine can open.

    Nothing is changed before you have seen the plan and agreed. Closing the page ends the
    program; a change that is being made then is finished first. Ctrl-C undoes it.

    \b
    Examples:
      tritonwin ui
      tritonwin ui --app C:\\ComfyUI_windows_portable
    """
    from tritonwin.front.door import Door, show
    from tritonwin.output.terminal import print_note

    with Door(setting_of(target, lists, offline=offline)) as door:
        address = door.server.issue()
        print_note(f"The page: {address}")
        print_note("It opens once. Close it, or press Ctrl-C here, to end this program.")
        if not no_browser:
            show(address)
        door.desk.run()
    return Exit.DONE


def setting_of(target: TargetOptions, lists: tuple[str, ...], *, offline: bool) -> Setting:
    """The Python that the page is about; asks on the terminal about one that nobody named.

    Raises:
        TargetError: there is none, or it may not be started.
    """
    from tritonwin.facts.interpreters import find_target
    from tritonwin.front.desk import Setting
    from tritonwin.remedies.fix import FixOptions
    from tritonwin.remedies.install import InstallOptions
    from tritonwin.system.host import Host

    choice = find_target(Host.this_machine(target.app), target.python, target.app)
    if choice.planted:
        may_start(choice.executable, needed=True)
        target = replace(target, python=choice.executable)

    def collect() -> tuple[Host, Facts]:
        host = Host.this_machine(target.app)
        return host, target.collect(host=host)

    return Setting(
        collect=collect,
        fix=FixOptions(named=target.named, lists=lists, offline=offline, timeout=target.timeout),
        install=InstallOptions(
            requests=(), lists=lists, default_lists=not offline, offline=offline
        ),
    )
