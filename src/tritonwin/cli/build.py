"""`tritonwin build`: a wheel from source, planned first."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tritonwin.cli.options import (
    Number,
    TargetOptions,
    json_option,
    need_no_question,
    target_options,
)
from tritonwin.errors import Exit, UserError

if TYPE_CHECKING:
    from tritonwin.build.command import Shell
    from tritonwin.build.plan import BuildPlan
    from tritonwin.build.source import BuildContext
    from tritonwin.output.building import BuildStatus
    from tritonwin.system.host import Host

_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_REF = re.compile(r"(?![-+])[^\s~^:?*\[\\\x00-\x1f\x7f]+")  # see git check-ref-format


def _version(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse an invalid version before it gets into a requirement, a path or a script."""
    from packaging.version import InvalidVersion, Version

    try:
        if value is not None:
            Version(value)
    except InvalidVersion:
        raise click.BadParameter(
            f"{value!r} is not a version such as 2.8.3; a tag, branch or commit: --ref",
            context,
            option,
        ) from None
    return value


def _ref(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Refuse what git would take as several refs or as an option."""
    if value is not None and not _REF.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not a tag, branch or commit", context, option)
    return value


# What decides otherwise than the plan would; the names are those of `Order`.
_ORDER_OPTIONS = (
    click.option("--version", callback=_version, metavar="V", help="Build this version."),
    click.option("--source", metavar="DIR|FILE|URL", help="Build this source."),
    click.option("--ref", callback=_ref, metavar="REF", help="Build this tag, branch or commit."),
    click.option("--arch", "archs", multiple=True, metavar="CC", help="Compile for this GPU: 8.9."),
    click.option("--cuda", metavar="DIR|V", help="This CUDA toolkit; or: assembled."),
    click.option("--msvc", metavar="V", help="This MSVC toolset: 14.44."),
    click.option("--cpp-standard", "cpp", type=click.Choice(["17", "20"]), help="C++ standard."),
    click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Compilers at once."),
    click.option("--nvcc-threads", type=click.IntRange(1, 64), metavar="N", help="Of each nvcc."),
    click.option(
        "--memory-per-job",
        "gib_per_job",
        type=Number(0.1, 256),
        metavar="GIB",
        help="Plan with this peak of a compiler.",
    ),
    click.option("--nvcc-flag", "nvcc_flags", multiple=True, help="Pass this on to nvcc."),
    click.option("--local-version", metavar="TEXT", help="Behind the version's +."),
    click.option("--root", type=_PATH, metavar="DIR", help="Where build folders are made."),
    click.option("--anyway", is_flag=True, help="Build although a wheel exists."),
    click.option("--offline", is_flag=True, help="Fetch nothing."),
    click.option("--llvm", type=_FOLDER, metavar="DIR", help="LLVM for Triton."),
    click.option("--nlohmann-json", "json", type=_FOLDER, metavar="DIR", help="For Triton."),
    click.option("--pybind11", type=_FOLDER, metavar="DIR", help="For Triton."),
)


def order_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of an order."""
    return reduce(lambda added, option: option(added), reversed(_ORDER_OPTIONS), command)


@click.command("build")
@click.argument("recipe")
@target_options
@click.option("--plan", "only_plan", is_flag=True, help="Show the plan; build nothing.")
@click.option(
    "--snapshot", type=_PATH, metavar="FILE", help="Plan for the machine of this snapshot."
)
@click.option(
    "--script",
    "shell",
    type=click.Choice(["cmd", "sh"]),
    help="Print the commands of the build as a script.",
)
@click.option("--prepare", is_flag=True, help="Put everything into its place; compile nothing.")
@click.option("--fleet", type=_PATH, metavar="FILE", help="Print the jobs of this matrix.")
@click.option("--index-of", type=_FOLDER, metavar="DIR", help="Write DIR/wheels.json.")
@click.option("--find-links", multiple=True, type=_FOLDER, metavar="DIR", help="Files lie here.")
@click.option("--resume", is_flag=True, help="Go on with the build that was interrupted.")
@click.option("--yes", is_flag=True, help="Build without asking.")
@click.option("--all", "everything", is_flag=True, help="Show the reason of every choice.")
@order_options
@json_option
def command(
    *,
    recipe: str,
    target: TargetOptions,
    only_plan: bool,
    snapshot: Path | None,
    shell: Shell | None,
    prepare: bool,
    fleet: Path | None,
    index_of: Path | None,
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
      tritonwin build flash-attn --arch 8.9 --script cmd > build.cmd
      tritonwin build cuda-extension --source D:\\my_kernels --yes
      tritonwin build flash-attn --resume
    """
    if fleet is not None:
        _refuse_others("fleet")
        return _fleet(recipe, fleet, as_json=as_json)
    if index_of is not None:
        _refuse_others("index_of")
        return _index(index_of, as_json=as_json)
    if snapshot is not None and (not only_plan or shell or target.python or target.app):
        raise UserError(
            "--snapshot is for a plan, of the Python in that file",
            "tritonwin build RECIPE --plan --snapshot FILE",
        )
    need_no_question(
        {"--json": as_json}, {"--yes": yes, "--plan": only_plan}, "tritonwin build RECIPE --plan"
    )
    from tritonwin.build import archs, runner
    from tritonwin.build.order import Order
    from tritonwin.facts import snapshot as snapshots
    from tritonwin.output import building, documents, terminal
    from tritonwin.remedies import build_wheel
    from tritonwin.system.host import Host

    options["archs"] = tuple(archs.parse(arch) for arch in options["archs"])
    order, host = Order(recipe=recipe, **options), Host.this_machine(target.app)
    plan, context = build_wheel.prepare(
        order,
        snapshots.read(snapshot) if snapshot else target.collect(host=host),
        host,
        folders=find_links,
        from_snapshot=snapshot is not None,
    )
    if shell:
        return _print_script(plan, shell, host)
    if prepare and plan.possible:
        with building.Follower() as on_event:
            runner.prepare(plan, replace(context, on_event=on_event))
        terminal.print_note(f"ready: {plan.root}")
        return Exit.DONE
    if resume:
        plan = runner.read_plan(plan.layout.plan)
        plan = plan.with_jobs(order.jobs) if order.jobs else plan
    if not as_json:
        terminal.show(*building.of_build_plan(plan), everything=everything)
    possible = plan.possible or resume
    if only_plan or not possible or not (yes or terminal.agreed("Build it?")):
        if as_json:
            status: BuildStatus = "planned" if possible else "refused"
            documents.print_document(building.BuildReport(status=status, plan=plan))
        return Exit.DONE if only_plan and possible else Exit.PROBLEMS
    return _carry_out(plan, context, resume=resume, as_json=as_json)


def _refuse_others(used: str) -> None:
    """Refuse options that cannot be combined with that one."""
    context = click.get_current_context()
    flags = {p.name: p.opts[-1] for p in context.command.params}
    for name, flag in flags.items():
        given = context.get_parameter_source(name or "") == ParameterSource.COMMANDLINE
        if given and name not in {used, "recipe", "as_json"}:
            raise UserError(
                f"{flag} cannot be combined with {flags[used]}",
                f"Leave it out: tritonwin build RECIPE {flags[used]} PATH",
            )


def _print_script(plan: BuildPlan, shell: Shell, host: Host) -> int:
    from tritonwin.build.command import script

    text = script(plan, shell, host, _prepare_words(plan))
    sys.stdout.buffer.write(text.encode("utf-8"))
    return Exit.DONE


def _prepare_words(plan: BuildPlan) -> list[str]:
    """The call of tritonwin that makes this plan again, from any folder, and prepares it."""
    from tritonwin.build.order import Order
    from tritonwin.system.files import is_folder

    context = click.get_current_context()
    script = sys.argv[0]
    own = (
        [str(Path(script).absolute())] if script.endswith((".pyz", ".bat")) else ["-m", "tritonwin"]
    )
    words = [sys.executable, *own, "build", plan.recipe, "--prepare", "--python", plan.target]
    forwarded = ({field.name for field in fields(Order)} | {"find_links"}) - {"recipe"}
    for option in context.command.params:
        name = option.name or ""
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if not given or name not in forwarded:
            continue
        value = context.params[name]
        for one in value if isinstance(value, tuple) else [value]:
            if name == "source":
                one = plan.source.location
            elif isinstance(one, Path) or (name == "cuda" and is_folder(Path(one))):
                one = Path(one).absolute()
            words += [option.opts[-1], *([] if isinstance(one, bool) else [str(one)])]
    return words


def _carry_out(plan: BuildPlan, context: BuildContext, *, resume: bool, as_json: bool) -> int:
    from tritonwin.build import runner
    from tritonwin.output import building, documents
    from tritonwin.output.terminal import show

    if as_json:
        outcome = runner.make(plan, context, resume=resume)
        status: BuildStatus = "failed" if outcome.wheel is None else "unproven"
        if outcome.proven:
            status = "built"
        documents.print_document(building.BuildReport(status=status, plan=plan, outcome=outcome))
    else:
        with building.Follower() as on_event:
            outcome = runner.make(plan, replace(context, on_event=on_event), resume=resume)
        show(*building.of_outcome(outcome))
    return Exit.DONE if outcome.proven else Exit.PROBLEMS


def _fleet(recipe: str, file: Path, *, as_json: bool) -> int:
    """Print the jobs: alone and in one line, as `strategy.matrix` takes them, or as a document."""
    import json

    from tritonwin.build import fleet
    from tritonwin.output import documents
    from tritonwin.system.codec import to_json
    from tritonwin.system.files import read_text

    text = read_text(file)
    if text is None:
        raise UserError(
            f"{file} cannot be read", "Name a file in TOML; docs/fleet.md has an example."
        )
    found = fleet.read(recipe, text)
    if as_json:
        documents.print_document(found)
        return Exit.DONE
    for dropped in found.dropped:
        click.echo(f"left out: {dropped.id}: {dropped.reason}", err=True)
    click.echo(json.dumps({"include": to_json(found.include)}))
    return Exit.DONE


def _index(folder: Path, *, as_json: bool) -> int:
    """Write wheels.json, and print it where JSON is asked for."""
    from tritonwin.build import fleet
    from tritonwin.output.blocks import line
    from tritonwin.output.terminal import answer

    document = fleet.write_index(folder)
    said = line(f"written: {folder / fleet.INDEX} ({len(document.wheels)} wheels)")
    answer(document, [said], as_json=as_json)
    return Exit.DONE if document.wheels else Exit.PROBLEMS
