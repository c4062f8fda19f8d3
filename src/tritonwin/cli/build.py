"""`tritonwin build`: a wheel from source, planned first."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from tritonwin.cli.options import (
    TargetOptions,
    Whole,
    compute_capability,
    json_option,
    matching,
    need_no_question,
    path_option,
    refuse_together,
    target_options,
)
from tritonwin.errors import Exit
from tritonwin.support.versions import parse

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_VERSION = matching(parse, "a version such as 2.8.3; a tag, branch or commit: --ref")
# see git check-ref-format
_REF = matching(
    re.compile(r"(?![-+])[^\s~^:?*\[\\\x00-\x1f\x7f]+").fullmatch, "a tag, branch or commit"
)


@click.command("build")
@click.argument("recipe")
@target_options
@click.option("--plan", "only_plan", is_flag=True, help="Show the plan; build nothing.")
@path_option("--snapshot", "FILE", "Plan alone, for the machine of this file.")
@click.option("--script", "as_script", is_flag=True, help="Print the command as a batch file.")
@click.option(
    "--find-links", multiple=True, type=_FOLDER, metavar="DIR", help="Take files from here."
)
@click.option("--resume", is_flag=True, help="Go on with the build that was interrupted.")
@click.option("--yes", is_flag=True, help="Build without asking.")
@click.option("--all", "everything", is_flag=True, help="Show the reason of every choice.")
# what decides otherwise than the plan would; the names are those of `Order`
@click.option("--version", type=_VERSION, metavar="V", help="Build this version.")
@click.option("--source", metavar="DIR|FILE|URL", help="Build this source.")
@click.option("--ref", type=_REF, metavar="REF", help="Build this tag, branch or commit.")
@click.option(
    "--arch",
    "archs",
    type=compute_capability,
    multiple=True,
    metavar="CC",
    help="For this GPU: 8.9.",
)
@click.option("--cuda", metavar="DIR|V", help="This CUDA toolkit; or: assembled.")
@click.option("--msvc", metavar="V", help="This MSVC toolset: 14.44.")
@click.option("--jobs", type=Whole(1, 1024), metavar="N", help="Compilers at once.")
@click.option("--nvcc-flag", "nvcc_flags", multiple=True, help="Pass this on to nvcc.")
@path_option("--root", "DIR", "Where build folders are made.")
@click.option("--anyway", is_flag=True, help="Build although a wheel exists.")
@click.option("--offline", is_flag=True, help="Fetch nothing.")
@json_option
def command(
    *,
    recipe: str,
    target: TargetOptions,
    only_plan: bool,
    snapshot: Path | None,
    as_script: bool,
    find_links: tuple[Path, ...],
    resume: bool,
    yes: bool,
    everything: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Build a wheel of flash-attn, sageattention, triton, or any CUDA extension, from source.

    First comes the plan: whether a wheel exists already, the architectures of this GPU, a toolkit
    of torch's CUDA, the compiler that goes with it, and as many jobs as memory allows. Interrupted,
    the build goes on with --resume. The wheel is proven and described in a file beside it. Exit
    status 1 where the plan is refused or the build fails.

    \b
    Examples:
      tritonwin build flash-attn --plan
      tritonwin build flash-attn --plan --snapshot report.json
      tritonwin build flash-attn --arch 8.9 --script > build.cmd
      tritonwin build cuda-extension --source D:\\my_kernels --yes
      tritonwin build flash-attn --resume
    """
    refuse_together("snapshot", "python", "app", "as_script", "resume")
    only_plan = only_plan or snapshot is not None
    need_no_question(for_programs=as_json, settled=yes or only_plan)
    from tritonwin.build import runner
    from tritonwin.build.command import script
    from tritonwin.build.order import Order
    from tritonwin.facts import snapshot as snapshots
    from tritonwin.output import building, documents, terminal
    from tritonwin.remedies import build_wheel
    from tritonwin.system.host import Host

    order, host = Order(recipe=recipe, **options), Host.this_machine(target.app)
    plan, context = build_wheel.prepare(
        order,
        snapshots.read(snapshot) if snapshot else target.collect(host=host),
        host,
        folders=find_links,
        from_snapshot=snapshot is not None,
    )
    if as_script:
        sys.stdout.buffer.write(script(plan, host).encode("utf-8"))
        return Exit.DONE
    if resume:
        plan = runner.read_plan(plan.layout.plan)
        plan = plan.with_jobs(order.jobs) if order.jobs else plan
    if not as_json:
        terminal.show(*building.of_build_plan(plan), everything=everything)
    possible = plan.possible or resume
    outcome = None
    if possible and not only_plan and (yes or terminal.agreed("Build it?")):
        with terminal.Meter() as meter:
            on_event = (lambda _: None) if as_json else partial(building.follow, meter)
            outcome = runner.make(plan, replace(context, on_event=on_event), resume=resume)
    if as_json:
        documents.print_document(building.report(plan, outcome, possible=possible))
    elif outcome:
        terminal.show(*building.of_outcome(outcome))
    done = outcome.proven if outcome else only_plan and possible
    return Exit.DONE if done else Exit.PROBLEMS
