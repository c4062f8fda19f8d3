"""`tritonwin matrix`: what fits what."""

from __future__ import annotations

import click

from tritonwin.cli.options import json_option
from tritonwin.errors import Exit


@click.command("matrix")
@json_option
def command(*, as_json: bool) -> int:
    """Show which torch, Triton, Python, CUDA, GPU and number format fit together.

    \b
    Examples:
      tritonwin matrix
      tritonwin matrix --json
    """
    from tritonwin.output.matrix import MatrixReport, of_matrix
    from tritonwin.output.terminal import answer
    from tritonwin.support import matrix

    found = matrix.load()
    answer(MatrixReport(matrix=found), of_matrix(found), as_json=as_json)
    return Exit.DONE
