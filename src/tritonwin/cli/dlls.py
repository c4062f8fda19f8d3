"""`tritonwin dlls`: which DLLs a file needs, and from where each would be loaded."""

from __future__ import annotations

from pathlib import Path

import click

from tritonwin.cli.options import json_option, path_option
from tritonwin.errors import Exit


@click.command("dlls")
@click.argument("file", type=click.Path(path_type=Path))
@path_option("--python", "EXE", "The Python that loads the file; the one around it when left out.")
@json_option
def command(*, file: Path, python: Path | None, as_json: bool) -> int:
    """Show what Windows needs to load a .pyd, .dll or .exe, and what of it is missing.

    For each DLL: where Windows would find it and in which version, missing functions included.
    Nothing is loaded, and no administrator rights are needed. Exit status 1 when the file would
    not load.

    \b
    Examples:
      tritonwin dlls C:\\py\\Lib\\site-packages\\triton\\_C\\libtriton.pyd
      tritonwin dlls flash_attn_2_cuda.cp312-win_amd64.pyd --python C:\\py\\python.exe
    """
    from tritonwin.facts.dlls.loading import dll_tree
    from tritonwin.output import dlls
    from tritonwin.output.terminal import answer
    from tritonwin.system.host import Host

    report = dlls.report(dll_tree(file, Host.this_machine(), python))
    status = Exit.DONE if report.loads else Exit.PROBLEMS
    answer(report, dlls.of_dlls(report), as_json=as_json)
    return status
