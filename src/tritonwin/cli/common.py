"""Options and steps that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tritonwin.cli.numbers import Number
from tritonwin.errors import UserError

Command = TypeVar("Command", bound=Callable[..., Any])


def wants_json(args: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also when it is wrong elsewhere.

    What stands behind `--`, and all that `run` is given, is for another program.
    """
    own = args[: args.index("--")] if "--" in args else args
    return "--json" in own and own[0] != "run"


def need_no_question(
    for_programs: Mapping[str, bool], settled: Mapping[str, bool], look: str
) -> None:
    """Output that a program reads leaves no room for a question: it has to be settled before.

    Args:
        for_programs: options by which such output is asked for, and whether they were given.
        settled: the same for those that make the question needless, as `--yes`.
        look: a command that shows what would be done.

    Raises:
        UserError: something would have to be asked.
    """
    given = [option for option, on in for_programs.items() if on]
    if given and not any(settled.values()):
        needs = "it needs" if len(given) == 1 else "they need"
        raise UserError(
            f"{' and '.join(given)} cannot ask: {needs} {' or '.join(settled)}",
            f"Look first: {look}",
        )


class Group(click.Group):
    """A group that compares a word that is none of its commands with those that are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word, known = args[0], self.list_commands(ctx)
        if word not in known and not word.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(word, known, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            ctx.fail(f"There is no command {word!r}; {meant}")
        return super().resolve_command(ctx, args)


def target_options(command: Command) -> Command:
    """Add --python, --app and --timeout: which interpreter is meant."""
    for option in (
        click.option(
            "--timeout",
            type=Number(1, 3600, unit="seconds", example="60"),
            default=30.0,
            metavar="SECONDS",
            help="Give up on a program of the target after so long (default 30).",
        ),
        click.option(
            "--app",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Examine the Python of this application (ComfyUI, FramePack ...).",
        ),
        click.option(
            "--python",
            metavar="EXE",
            help="Examine this Python: python.exe, or the folder it is in.",
        ),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
