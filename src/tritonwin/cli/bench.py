"""`tritonwin bench`: how fast Triton is here."""

from __future__ import annotations

import os
from dataclasses import replace

import click

from tritonwin.cli.options import TargetOptions, json_option, refuse_unknown, target_options
from tritonwin.errors import Exit


@click.command("bench")
@target_options
@click.option("--only", multiple=True, metavar="PART", help="This part alone; can be repeated.")
@json_option
def command(
    *,
    target: TargetOptions,
    only: tuple[str, ...],
    as_json: bool,
) -> int:
    """Measure Triton in a Python: compiling, launching, memory, matrix products.

    Where torch has CUDA, the same work done by torch on the same GPU stands beside it. Nothing is
    changed: the programs run with caches of their own. Figures have the same names in every --json,
    so two files can be compared. Exit status 1 when a part fails.

    \b
    Examples:
      tritonwin bench --python C:\\ComfyUI\\python_embeded\\python.exe
      tritonwin bench --json > before.json
    """
    from tritonwin.facts.redaction.redactor import Redactor
    from tritonwin.output import documents, proof
    from tritonwin.output.blocks import pairs
    from tritonwin.output.machine import described
    from tritonwin.output.terminal import show
    from tritonwin.verify import ladder
    from tritonwin.verify.records import BROKEN, load
    from tritonwin.verify.setting import setting_for

    known = {part.id: part for part in load().bench}
    refuse_unknown("part", only, known)
    facts = target.collect()
    setting = setting_for(facts, dict(os.environ), timeout=max(target.timeout, 300))
    chosen = [part for name, part in known.items() if not only or name in only]
    results = ladder.climb(replace(setting, workers=1), chosen)  # each has the machine for itself
    if as_json:
        parts = list(results)
        documents.print_document(proof.bench_report(facts, parts, Redactor.this_machine()))
    else:
        show(pairs(described(facts)))
        parts = proof.followed(results, chosen, each=True, everything=True)
    states = {part.state for part in parts}
    return Exit.DONE if "passed" in states and not states & BROKEN else Exit.PROBLEMS
