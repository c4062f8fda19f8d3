"""Options and steps that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def wants_json(args: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, also when it is wrong elsewhere."""
    return "--json" in args


def number(context: click.Context, option: click.Parameter, value: float) -> float:
    """Refuse "nan", which no bound of a range keeps out."""
    if value is not None and math.isnan(value):
        msg = f"{value} is not a number."
        raise click.BadParameter(msg, context, option)
    return value


def target_options(command: Command) -> Command:
    """Add --python, --app and --timeout: which interpreter is meant."""
    for option in (
        click.option(
            "--timeout",
            type=click.FloatRange(min=1, max=3600),
            default=30.0,
            callback=number,
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
