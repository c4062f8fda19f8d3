"""`tritonwin mcp`: the calls for assistants."""

from __future__ import annotations

import click

from tritonwin.cli.options import TargetOptions, target_options
from tritonwin.errors import Exit, UserError


@click.command("mcp")
@target_options
@click.option("--offline", is_flag=True, help="Fetch nothing: use what is on this machine.")
def command(*, target: TargetOptions, offline: bool) -> int:
    """Serve doctor, explain, plans, verify and snapshot to an assistant, by MCP on stdio.

    It can look and plan. Nothing is changed before you agree to the plan on the page that then
    opens in your browser. Answers hold no user name, host name or secret.

    \b
    Examples:
      tritonwin mcp --app C:\\ComfyUI_windows_portable
    """
    from tritonwin.cli.ui import setting_of
    from tritonwin.front.door import Door

    try:
        from tritonwin.front.mcp import serve
    except ImportError as error:
        raise UserError(
            f"the MCP SDK cannot be imported: {error}",
            "Install it beside tritonwin: python -m pip install mcp",
        ) from None
    with Door(setting_of(target, (), offline=offline), watched=False) as door:
        serve(door)
    return Exit.DONE
