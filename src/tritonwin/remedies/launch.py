"""Start the target in the environment that it needs, and change nothing: the remedy of `run`.

Visual Studio's environment is captured from its own vcvarsall.bat, wrong variables are left out,
and the caches get short folders where Windows' limit of 260 characters holds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tritonwin.facts.records import Facts
from tritonwin.facts.toolchain.msvc import capture
from tritonwin.facts.toolchain.parts import parts
from tritonwin.problems.records import Problem
from tritonwin.remedies.plan import CannotRemedyError, SetVariable
from tritonwin.remedies.variables import CACHES, short_folder
from tritonwin.system import shells
from tritonwin.system.host import Host, merged

MARK = "Written by tritonwin run"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The difference from the environment that tritonwin was started in.

    Attributes:
        variables: with their values; None: it is left out.
        vcvarsall: Visual Studio's batch file whose environment comes first; None: none is there.
    """

    variables: Mapping[str, str | None]
    vcvarsall: str | None = None


def settings(facts: Facts, problems: Iterable[Problem]) -> Settings:
    """The settings that the facts and the problems ask for."""
    actions = (action for problem in problems for action in problem.actions)
    wanted: dict[str, str | None] = {
        action.arguments["variable"]: action.arguments.get("value")
        for action in actions
        if action.name == SetVariable.action
    }
    if facts.windows and facts.system.long_paths is False and facts.system.temp:
        with contextlib.suppress(CannotRemedyError):  # then they stay where they are
            folder = short_folder(facts)
            for name, end in CACHES.items():
                if facts.variable(name) is None:
                    wanted.setdefault(name, str(folder / end))
    usable = [t for t in facts.msvc if t.vcvarsall and t.compiler]
    toolset = next((t for t in (*(u for u in usable if u.chosen), *usable)), None)
    if toolset:
        wanted = {**dict.fromkeys(parts().msvc.activation), **wanted}
    return Settings(variables=wanted, vcvarsall=toolset.vcvarsall if toolset else None)


def environment(chosen: Settings, host: Host) -> dict[str, str]:
    """The variables for the target.

    Raises:
        VcvarsError: vcvarsall.bat does not do what it should.
    """
    data = merged(host.env.data, chosen.variables)
    if chosen.vcvarsall:
        data = capture(Path(chosen.vcvarsall), data, host)
    return merged(data, {name: v for name, v in chosen.variables.items() if v is not None})


def batch_file(chosen: Settings, python: str, args: Sequence[str]) -> str:
    """A batch file that does the same by a double click, with what it is given at its end.

    cmd would look for chcp, and for the programs that vcvarsall.bat calls, in the current folder
    first: they are called from another, and Python is started where the batch file was.
    """
    lines = [
        "@echo off",
        f"rem {MARK}: starts Python in the environment that Triton needs.",
        "setlocal DisableDelayedExpansion",  # a path may hold exclamation marks
        'pushd "%SystemRoot%\\System32"',
        "chcp 65001 >nul",
        *(f'set "{name}="' for name, value in chosen.variables.items() if value is None),
        *([f"call {shells.batch_call(chosen.vcvarsall)} x64 >nul"] if chosen.vcvarsall else []),
        "popd",
        *(
            f'set "{name}={shells.batch_value(value)}"'
            for name, value in chosen.variables.items()
            if value is not None
        ),
        " ".join([*map(shells.batch_word, (python, *args)), "%*"]),
    ]
    return shells.batch(lines)
