"""`tritonwin snapshot`: redacted facts in a file, for a bug report."""

from __future__ import annotations

from pathlib import Path

import click

from tritonwin.cli.options import TargetOptions, json_option, target_options
from tritonwin.errors import Exit


@click.command("snapshot")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default="tritonwin-report.json",
    metavar="FILE",
    help="Where to write (default tritonwin-report.json); only a snapshot is replaced.",
)
@target_options
@json_option
def command(
    *,
    output: Path,
    target: TargetOptions,
    as_json: bool,
) -> int:
    """Write what is known of this machine to a file that can be shown to others.

    User names, host names, GPU identities and secrets are replaced. Whoever receives the file
    sees the same problems with: tritonwin doctor --snapshot FILE

    \b
    Examples:
      tritonwin snapshot
      tritonwin snapshot -o report.json --app C:\\ComfyUI_windows_portable
    """
    from tritonwin.facts import snapshot as snapshots
    from tritonwin.facts.redaction.identity import Identity
    from tritonwin.output.blocks import line
    from tritonwin.output.documents import SnapshotWritten
    from tritonwin.output.terminal import answer
    from tritonwin.system.host import Host

    facts = target.collect(start=False)
    snapshots.write(facts, output, Identity.this_machine(Host.this_machine()))
    said = (
        line(f"written: {output}"),
        line("Look at it, then attach it: it holds no user name, host name or secret."),
    )
    answer(SnapshotWritten(path=str(output)), said, as_json=as_json)
    return Exit.DONE
