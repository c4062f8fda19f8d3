"""The command line: the commands, each in a module of its own, and the exit status of a run."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TextIO

import click

from tritonwin import COMMAND_GROUPS, COMMANDS, STATUS, __version__
from tritonwin.cli import endings
from tritonwin.cli.options import Group, HelpContext, TargetOptions, expand, refuse_unknown
from tritonwin.cli.signals import ToldToEndError, told_to_end
from tritonwin.errors import Exit, UserError


class _Commands(Mapping[str, click.Command]):
    """The commands by name; the module of one is imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in COMMANDS:
            raise KeyError(name)
        command: click.Command = import_module(f"tritonwin.cli.{name}").command
        command.context_class = HelpContext
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Main(Group):
    """The commands, in the groups that the table of commands has."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


def _print_version(context: click.Context, _: click.Parameter, count: int) -> None:
    """The version; where the option is given twice also where it runs, and what it is worth."""
    if not count or context.resilient_parsing:
        return
    click.echo(f"tritonwin {__version__}")
    if count > 1:
        click.echo(f"Python {sys.version.split()[0]}, {sys.executable}")
        click.echo(STATUS)
    context.exit()


def _print_schema(context: click.Context, _: click.Parameter, name: str | None) -> None:
    if name is None or context.resilient_parsing:
        return
    import json

    from tritonwin.output import schema

    refuse_unknown("schema", [name], schema.DOCUMENTS)
    click.echo(json.dumps(schema.load(name), indent=2))
    context.exit()


@click.group(cls=Main, commands=_Commands())
@click.option(
    "-V",
    "--version",
    count=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version; -VV: also its status.",
)
@click.option(
    "--json-schema",
    metavar="NAME",
    expose_value=False,
    is_eager=True,
    callback=_print_schema,
    help="Print the JSON Schema of a document, such as tritonwin.doctor/1.",
)
def main() -> None:
    """Triton, torch.compile and FlashAttention on Windows: what is wrong, and what helps.

    \b
    Examples:
      tritonwin doctor
      tritonwin fix --app C:\\ComfyUI_windows_portable
      tritonwin explain comfyui.log
      tritonwin COMMAND --help
    """


def run(args: Sequence[str]) -> int:
    """Run a command line and return its exit status; print at most a short message for an error."""
    _make_output_safe()
    streams = sys.stdout, sys.stderr
    with told_to_end():
        status = _run(args)
    sys.stdout = streams[0]  # click wraps it where a pipe was closed
    for stream in streams:
        _drop_unwritten(stream)
    return status


def _run(args: Sequence[str]) -> int:
    try:
        words = expand(args)
        if not words:
            return _unasked()
        result = main.main(args=words, prog_name="tritonwin", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        endings.say(args, str(error), error.help)
        return Exit.USAGE
    except click.ClickException as error:
        endings.say(args, *_misused(error, args))
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt) as ended:
        with contextlib.suppress(OSError):
            print("interrupted", file=sys.stderr)  # noqa: T201
        # click makes an Abort of either
        by = ended if isinstance(ended, KeyboardInterrupt) else ended.__cause__
        return by.status if isinstance(by, ToldToEndError) else 130
    except SystemExit:  # click's, where a pipe was closed at its other end
        return Exit.PROBLEMS
    except Exception as error:  # noqa: BLE001 - a person must never see a traceback unasked
        return endings.failed(args, error)
    return int(result) if isinstance(result, int) else Exit.DONE


def _misused(error: click.ClickException, args: Sequence[str]) -> tuple[str, str]:
    """click's message, and where the right use is described."""
    message = " ".join(error.format_message().split())
    context = getattr(error, "ctx", None)
    # click does not always know the command
    begun = " ".join(("tritonwin", *(word for word in args[:1] if word in COMMANDS)))
    return message, f"Try: {context.command_path if context else begun} --help"


def _unasked() -> int:
    """The state of this machine in one line, and the next step."""
    from tritonwin.output import terminal, view
    from tritonwin.problems.checks import CHECKS
    from tritonwin.problems.doctor import diagnose

    facts = TargetOptions(python=None, app=None, timeout=30).collect(start=False)
    diagnosis = diagnose(facts, CHECKS)
    terminal.show(*view.of_diagnosis(facts, diagnosis).status())
    sys.stdout.flush()
    return Exit.DONE if diagnosis.healthy else Exit.PROBLEMS


def _make_output_safe() -> None:
    """Escape characters that the console cannot show, so that no print fails for its encoding.

    Without any output (`pythonw`, a closed descriptor) everything printed is lost.
    """
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # this flushes earlier output, which may fail
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="backslashreplace")


def _drop_unwritten(stream: TextIO) -> None:
    """Drop output that could not be written: it must not fail again when the interpreter ends."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
