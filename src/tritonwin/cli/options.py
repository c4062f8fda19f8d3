"""The words of a command line, and the options that several commands share."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from tritonwin.errors import UserError

if TYPE_CHECKING:
    from tritonwin.facts.records import Facts
    from tritonwin.system.host import Host

Command = TypeVar("Command", bound=Callable[..., Any])


_NO_VALUE = re.compile("--[a-z-]+=")
# what people copy: 8.9 from NVIDIA's tables, sm_89 from messages of compilers
_ARCH = re.compile(r"(?:sm_?|compute_?)?(\d{1,2})\.?(\d)([af]?)", re.ASCII)


def expand(args: Sequence[str]) -> list[str]:
    """The words that click reads: `help X` becomes `X --help`.

    Raises:
        UserError: a word is empty, usually because a variable in it is not set. click would take
            it for the current folder, or for the first name of a list.
    """
    words = list(args)
    own = words[: words.index("--")] if "--" in words else words
    for before, word in zip(("", *own), own, strict=False):
        if word and not _NO_VALUE.fullmatch(word):
            continue
        option = word.rstrip("=") or (before if before.startswith("-") else "")
        what = f"{option} has no value" if option else "one of the words is empty"
        raise UserError(f"{what}; is a variable not set?", "Leave it out, or write what is meant.")
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return words


def wants_json(args: Sequence[str]) -> bool:
    """True if a command line asks for JSON, even if it is wrong elsewhere.

    Words after `--`, and all words of `run`, belong to another program.
    """
    own = args[: args.index("--")] if "--" in args else args
    return "--json" in own and own[0] != "run"


def need_no_question(*, for_programs: bool, settled: bool) -> None:
    """Refuse output for programs where a question would have to be asked.

    Args:
        settled: an option makes the question needless.

    Raises:
        UserError: something would have to be asked.
    """
    if for_programs and not settled:
        raise UserError(
            "output for programs cannot ask a question",
            "Add --yes, or --dry-run (of build: --plan) to look alone.",
        )


def refuse_unknown(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is none of the known ones.

    Raises:
        UserError: it says what may have been meant.
    """
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            listed = ", ".join(known if len(known) < 40 else [*list(known)[:9], "and others"])
            meant = f"Do you mean {near[0]}?" if near else f"There are {listed}."
            raise UserError(f"there is no {kind} {name!r}", meant)


def matching(valid: Callable[[str], object], what: str) -> Callable[[str], str]:
    """A type of option: a text that is `what`."""

    def check(text: str) -> str:
        if not valid(text):
            raise click.BadParameter(f"{text!r} is not {what}")
        return text

    return check


def refuse_together(option: str, *others: str) -> None:
    """Refuse an option together with others.

    Raises:
        click.UsageError: the command line has both.
    """
    context = click.get_current_context()
    given = {
        param.name: param.opts[-1]
        for param in context.command.params
        if context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    }
    clash = next((given[name] for name in others if name in given), None)
    if clash and option in given:
        raise click.UsageError(f"{given[option]} cannot be combined with {clash}", context)


# Options that many commands share, below headings of their own.
_SHARED = {
    "Which Python": ("--python", "--app", "--timeout", "--snapshot", "--triton"),
    "Output": ("--all", "--html", "--json", "--json-lines", "--list", "--log", "--markdown",
               "--report"),
}  # fmt: skip


class _Help(click.HelpFormatter):
    """Writes options in groups: those of the command, those that name a Python, output."""

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **more: Any) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for row in rows:
            name = re.split(r"[ ,]", row[0])[0]
            of = next((title for title, names in _SHARED.items() if name in names), "")
            groups.setdefault(of, []).append(row)
        super().write_dl(groups.pop("", []), *args, **more)
        for title in filter(groups.get, _SHARED):
            self.dedent()
            self.write_paragraph()
            self.write_heading(title)
            self.indent()
            super().write_dl(groups[title], *args, **more)


class HelpContext(click.Context):
    formatter_class = _Help


class Group(click.Group):
    """A group whose commands write their help in groups, too."""

    context_class = HelpContext

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.context_settings = {"help_option_names": ["-h", "--help"]}
        self.no_args_is_help = False  # a line is said: click's versions do not agree on the status

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        cmd.context_class = HelpContext
        super().add_command(cmd, name)


class Whole(click.IntRange):
    """A whole number between two bounds."""

    name = "whole number"


def compute_capability(text: str) -> str:
    """The type of a compute capability: 89, 8.9, sm_89 or 9.0a becomes "8.9" or "9.0a".

    Raises:
        click.BadParameter: another word, or of no GPU that CUDA knows.
    """
    found = _ARCH.fullmatch(text.strip().lower())
    if found is None or int(found[1]) < 5:
        raise click.BadParameter(
            f"{text!r} cannot be used: it takes the compute capability of a GPU from 5.0 on,"
            " such as 89, 8.9 or sm_89"
        )
    return f"{found[1]}.{found[2]}{found[3]}"


@dataclass(frozen=True, kw_only=True)
class TargetOptions:
    """The interpreter that a command works on, as the command line names it."""

    python: str | None
    app: Path | None
    timeout: float  # seconds for each program of the target

    @property
    def named(self) -> bool:
        """The user said which Python is meant."""
        return self.python is not None or self.app is not None

    def collect(self, *, host: Host | None = None, start: bool = True) -> Facts:
        """The facts of that interpreter and its machine.

        Args:
            start: the command cannot do without starting it. Else one that was found for the
                current folder alone is only read, unless the user agrees.

        Raises:
            TargetError: there is no such interpreter, or it may not be started.
        """
        from tritonwin.facts.collect import collect

        return collect(
            python=self.python,
            app=self.app,
            timeout=self.timeout,
            host=host,
            may_start=partial(may_start, needed=start),
        )


def may_start(executable: str, *, needed: bool = False) -> bool:
    """Ask on a terminal about a Python that nobody named; `--yes` agrees to it as well.

    Raises:
        TargetError: it is needed, and was not agreed to.
    """
    from tritonwin.output import terminal
    from tritonwin.output.blocks import line

    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("yes"):
        return True
    why = "it lies in or beside the current folder, and was not named"
    seen = sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()
    if seen and terminal.agreed(f"{executable}: {why}. Start it?", sys.stderr):
        return True
    if needed:
        from tritonwin.facts.target import TargetError

        raise TargetError(
            f"{executable} is not started: {why}",
            "If you trust it, name it: --python PATH, or --app .",
        )
    with contextlib.suppress(OSError):
        said = f"{executable} is not started, its files are read: {why}. To start it: --python PATH"
        terminal.Screen(terminal.console(sys.stderr)).show(line(said))
    return False


def path_option(name: str, metavar: str, about: str, **more: Any) -> Callable[[Command], Command]:
    """An option whose value is a path."""
    kind = click.Path(path_type=Path)
    return click.option(name, type=kind, metavar=metavar, help=about, **more)


def target_options(command: Command) -> Command:
    """Add --python, --app and --timeout, which reach the command as `target`."""

    @wraps(command)
    def with_target(
        *args: Any, python: str | None, app: Path | None, timeout: float, **others: Any
    ) -> Any:
        target = TargetOptions(python=python, app=app, timeout=timeout)
        return command(*args, target=target, **others)

    for option in (
        click.option(
            "--timeout",
            type=Whole(1, 3600),
            default=30,
            metavar="SECONDS",
            help="Time limit for each program of the target (default 30).",
        ),
        path_option("--app", "DIR", "Examine the Python of this application (ComfyUI ...)."),
        click.option("--python", metavar="EXE", help="This Python: python.exe, or its folder."),
    ):
        with_target = option(with_target)
    return cast(Command, with_target)


find_links_option = click.option(
    "--find-links",
    "lists",
    multiple=True,
    metavar="PLACE",
    help="Take wheels from this folder, list or page (repeatable).",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def switch(
    name: str,
    about: str,
    words: Mapping[str, str],
    act: Callable[..., int],
    more: Mapping[str, Sequence[Callable[[Any], Any]]] = MappingProxyType({}),
) -> Group:
    """A group of commands that do something with one Python.

    Args:
        about: the help of the group.
        words: the commands, each with its help.
        act: gets the command's word, the Python, whether to print JSON, and the values of further
            options; returns the exit status.
        more: further options of a command, by its word.
    """
    group = Group(name, help=inspect.cleandoc(about))
    for word, text in words.items():

        def run(*, target: TargetOptions, as_json: bool, word: str = word, **given: Any) -> int:
            return act(word, target, as_json, **given)

        command = target_options(json_option(run))
        for option in more.get(word, ()):
            command = option(command)
        group.command(word, help=inspect.cleandoc(text))(command)
    return group
