"""`tritonwin bench`: how fast Triton is here."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tritonwin.cli.options import Arch, TargetOptions, json_option, target_options
from tritonwin.errors import Exit, UserError


@click.command("bench")
@target_options
@click.option(
    "--arch",
    type=Arch(),
    metavar="SM",
    help="Compile for this GPU, such as 89; this machine's GPU when left out.",
)
@click.option("--only", multiple=True, metavar="PART", help="This part alone; can be repeated.")
@click.option(
    "--compare",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="FILE FILE",
    help="Measure nothing: compare two files made with --json.",
)
@json_option
def command(
    *,
    target: TargetOptions,
    arch: int | None,
    only: tuple[str, ...],
    compare: tuple[Path, Path] | None,
    as_json: bool,
) -> int:
    """Measure Triton in a Python: compiling, launching, memory, matrix products.

    Where torch has CUDA, the same work done by torch on the same GPU stands beside it. Nothing is
    changed: the programs run with caches of their own. Exit status 1 when a part fails.

    \b
    Examples:
      tritonwin bench --python C:\\ComfyUI\\python_embeded\\python.exe
      tritonwin bench --json > before.json
      tritonwin bench --compare before.json after.json
    """
    if compare and (target.python or target.app or only or arch):
        raise click.UsageError(
            "--compare measures nothing: leave out --python, --app, --only and --arch"
        )
    if compare:
        return _compare(*compare, as_json=as_json)
    from tritonwin.facts.redaction.redactor import Redactor
    from tritonwin.output import bench as shown
    from tritonwin.output import documents
    from tritonwin.verify import bench
    from tritonwin.verify.records import BROKEN
    from tritonwin.verify.setting import setting_for

    names = [part.id for part in bench.PARTS]
    for name in only:
        if name not in names:
            raise UserError(f"there is no part {name!r}", f"The parts are: {', '.join(names)}")
    facts = target.collect()
    setting = setting_for(facts, dict(os.environ), arch=arch, timeout=max(target.timeout, 300))
    results = bench.measure(setting, only)
    if as_json:
        parts = list(results)
        documents.print_document(shown.report(facts, parts, Redactor.this_machine()))
    else:
        parts = shown.print_parts(facts, results)
    states = {part.state for part in parts}
    return Exit.DONE if "passed" in states and not states & BROKEN else Exit.PROBLEMS


def _compare(first: Path, second: Path, *, as_json: bool) -> int:
    from tritonwin.output import bench as shown
    from tritonwin.output import documents
    from tritonwin.verify import bench

    one, two = shown.read(first), shown.read(second)
    rows = bench.compare(one.parts, two.parts)
    if as_json:
        figures = shown.BenchComparison(first=one.machine, second=two.machine, figures=tuple(rows))
        documents.print_document(figures)
    else:
        shown.print_comparison(one, two, rows)
    return Exit.DONE
