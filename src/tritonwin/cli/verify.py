"""`tritonwin verify`: the proof ladder."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tritonwin.cli.common import json_option, target_options
from tritonwin.errors import Exit, UserError


@click.command("verify")
@target_options
@click.option("--through", metavar="RUNG", help="Go no further than this rung.")
@click.option(
    "--arch",
    type=click.IntRange(min=50),
    metavar="SM",
    help="Compile for this GPU, such as 89; this machine's GPU when left out.",
)
@json_option
def command(
    *,
    python: str | None,
    app: Path | None,
    timeout: float,
    through: str | None,
    arch: int | None,
    as_json: bool,
) -> int:
    """Prove, from the ground up, that Triton works in a Python.

    Each rung is a program that the Python runs in a process of its own, with empty caches: a C
    module compiled and imported, Triton imported, a kernel compiled, the helper module loaded.
    Nothing is changed but a note of what was proven, by which doctor sees what changed since.
    Exit status 1 when a rung fails.

    \b
    Examples:
      tritonwin verify --python C:\\ComfyUI\\python_embeded\\python.exe
      tritonwin verify --through compile-cubin --arch 120
    """
    from tritonwin.facts.collect import collect
    from tritonwin.facts.host import Environment
    from tritonwin.facts.proven import write_proven
    from tritonwin.output import machine, proof
    from tritonwin.verify import ladder

    names = [rung.id for rung in ladder.RUNGS]
    if through is not None and through not in names:
        msg = f"there is no rung {through!r}"
        raise UserError(msg, f"The rungs are: {', '.join(names)}")
    facts = collect(python=python, app=app, timeout=timeout)
    setting = ladder.setting(facts, dict(os.environ), arch=arch, timeout=max(timeout, 300))
    if as_json:
        shown = ladder.prove(setting, through)
        machine.print_document(machine.verify_report(facts, shown, setting.arch))
    else:
        shown = proof.print_climb(facts, ladder.climb(setting, through))
    if shown.holds and through is None:
        write_proven(facts, Environment(dict(os.environ)))
    return Exit.DONE if shown.holds else Exit.PROBLEMS
