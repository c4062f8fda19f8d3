"""`tritonwin verify`: the proof ladder."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import (
    TargetOptions,
    Whole,
    compute_capability,
    json_option,
    matching,
    path_option,
    refuse_together,
    target_options,
)
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.verify.records import Verdict

_CHIP = matching(re.compile("gfx[0-9a-f]{3,4}").fullmatch, "a chip's gfx name, such as gfx1100")
# a script that goes on after 0 must not take a PC without a GPU for proven, nor for broken
_STATUS: dict[Verdict, Exit] = {
    "proven": Exit.DONE,
    "gpu-untried": Exit.GPU_UNTRIED,
    "not-proven": Exit.PROBLEMS,
}


@click.command("verify")
@target_options
@click.option("--list", "list_rungs", is_flag=True, help="Name the rungs, and try none.")
@click.option("--through", metavar="RUNG", help="Go no further than this rung.")
@click.option("--only", multiple=True, metavar="RUNG", help="This rung alone (repeatable).")
@click.option("--arch", type=compute_capability, metavar="SM", help="Compile for this GPU: 89.")
@click.option("--chip", type=_CHIP, metavar="GFX", help="Compile for this chip of AMD: gfx1100.")
@click.option("--rung-timeout", type=Whole(1, 7200), metavar="SECONDS", help="Limit of each rung.")
@click.option("--force", is_flag=True, help="Also try what the tables rule out for this machine.")
@click.option("--all", "everything", is_flag=True, help="Show a line for each rung.")
@path_option(
    "--report",
    "FILE",
    "Write a report without anything private: FILE.md, .html or .json; may be repeated.",
    multiple=True,
)
@json_option
def command(
    *,
    target: TargetOptions,
    list_rungs: bool,
    through: str | None,
    only: tuple[str, ...],
    arch: str | None,
    chip: str | None,
    rung_timeout: int | None,
    force: bool,
    everything: bool,
    report: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Prove, from the ground up, that Triton works in a Python.

    Each rung is a program that the Python runs in a process of its own, with empty caches: from a
    C module that is compiled and imported, through kernels whose every number is checked, to
    torch.compile and the attention packages that are installed. Nothing is changed but a note of
    what was proven, by which doctor sees what changed since. Exit status 1 when a rung fails, 4
    when none fails and none that needs a GPU was tried.

    \b
    Examples:
      tritonwin verify --python C:\\ComfyUI\\python_embeded\\python.exe
      tritonwin verify --through vector-add --report proof.md
      tritonwin verify --only compile-cubin --arch 120
      tritonwin verify --only compile-hsaco --chip gfx1201
    """
    from tritonwin.facts.history import write_proven
    from tritonwin.facts.redaction.redactor import Redactor
    from tritonwin.output import documents, proof
    from tritonwin.output.terminal import answer
    from tritonwin.system.host import Environment
    from tritonwin.verify import ladder, records
    from tritonwin.verify.records import Proof
    from tritonwin.verify.setting import setting_for

    rungs = records.select(through, only)
    refuse_together("list_rungs", "report")
    if list_rungs:
        answer(documents.RungList(rungs=rungs), proof.of_rungs(rungs), as_json=as_json)
        return Exit.DONE
    for file in report:
        proof.refuse_place(file)
    facts = target.collect()
    setting = setting_for(
        facts,
        dict(os.environ),
        arch=int(re.sub(r"\D", "", arch)) if arch else None,
        chip=chip,
        timeout=rung_timeout,
        forced=force,
    )
    whole = len(records.load().rung)
    results = ladder.climb(setting, rungs)
    shown = (
        Proof(results=tuple(results))
        if as_json
        else proof.print_climb(facts, results, rungs, ladder=whole, everything=everything)
    )
    status = _STATUS[shown.verdict]
    made = proof.verify_report(facts, shown, setting.arch, chip=setting.chip, ladder=whole)
    public = Redactor.this_machine().record(made)
    for file in report:
        proof.write_report(public, file)
    if as_json:
        documents.print_document(public)
    if shown.verdict == "proven" and through is None and not only:
        write_proven(facts, Environment(dict(os.environ)))
    return status
