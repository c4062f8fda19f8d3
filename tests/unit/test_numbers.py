"""Numbers on the command line: what is taken, and that a refusal says what would be."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tritonwin.cli import app
from tritonwin.cli.options import Arch, Number

SECONDS = Number(1, 7200, unit="seconds", example="600")
JOBS = Number(1, 64, unit="compilers", example="4", whole=True)
WRONG = [
    "0x10",
    "soon",
    "",
    " ",
    "1e3",
    "1_000",
    "1,5",
    "30s",
    "nan",
    "inf",
    "-inf",
    "٣",
    "0",
    "-5",
]


@pytest.mark.parametrize(
    ("kind", "text", "number"),
    [
        (SECONDS, "1", 1),
        (SECONDS, " 7200 ", 7200),
        (SECONDS, "2.5", 2.5),
        (SECONDS, "+3.", 3),
        (JOBS, "08", 8),
        (Arch(), "89", 89),
        (Arch(), "8.9", 89),
        (Arch(), "sm_120", 120),
        (Arch(), "SM89", 89),
        (Arch(), "compute_100", 100),
        (Arch(), "12.0", 120),
    ],
)
def test_what_is_taken(kind: click.ParamType[float], text: str, number: float) -> None:
    assert kind.convert(text, None, None) == number


@pytest.mark.parametrize("text", [*WRONG, "7200.1"])
def test_a_refusal_names_bounds_and_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        SECONDS.convert(text, None, None)
    said = caught.value.message
    assert said.startswith(repr(text))
    assert said.endswith("it takes a number of seconds from 1 to 7200, such as 600")


@pytest.mark.parametrize("text", ["2.5", "65", *WRONG])
def test_a_part_of_a_compiler_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="a whole number of compilers from 1 to 64"):
        JOBS.convert(text, None, None)


@pytest.mark.parametrize("text", ["9", "4.9", "8", "sm_8", "9.0a", "1000", "8,9", "ada", *WRONG])
def test_what_is_no_compute_capability(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"such as 89, 8\.9 or sm_89"):
        Arch().convert(text, None, None)


@given(st.text(max_size=20) | st.floats().map(str) | st.integers().map(str))
def test_nothing_else_comes_out(text: str) -> None:
    for kind, low, high in ((SECONDS, 1, 7200), (JOBS, 1, 64), (Arch(), 50, 999)):
        try:
            number = kind.convert(text, None, None)
        except click.BadParameter:
            continue
        assert low <= number <= high


def options() -> Iterator[click.Parameter]:
    waiting: list[click.Command] = [app.main]
    while waiting:
        command = waiting.pop()
        yield from command.params
        if isinstance(command, click.Group):
            context = click.Context(command)
            found = (command.get_command(context, name) for name in command.list_commands(context))
            waiting += [each for each in found if each]


def test_every_number_of_the_command_line_is_one_of_these() -> None:
    # how often -V is given is no number that somebody types
    kinds = [o.type for o in options() if not getattr(o, "count", False)]
    plain = (click.IntRange, click.FloatRange, type(click.INT), type(click.FLOAT))
    assert not [kind for kind in kinds if isinstance(kind, plain)]
    assert sum(isinstance(kind, (Number, Arch)) for kind in kinds) > 10
