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
    from tritonwin.output import documents
    from tritonwin.output import matrix as shown
    from tritonwin.support import matrix

    if as_json:
        documents.print_document(shown.MatrixReport(matrix=matrix.load()))
    else:
        shown.print_matrix(matrix.load())
    return Exit.DONE
