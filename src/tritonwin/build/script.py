"""A plan as a script for cmd or sh: a call of tritonwin that prepares, then the build's command.

The script first leaves the folder that it is started in, often one of downloads: cmd looks there
for every program without a folder, such as those that vcvarsall.bat calls, before it looks in PATH,
and every shell does where PATH has "." or an empty entry. All paths are absolute.

In cmd a variable is set by `set "NAME=value"`: the quotes keep the blank out that
`set NAME=value && ...` puts at the end of the value.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from tritonwin.build.environment import Command, command
from tritonwin.build.plan import BuildPlan
from tritonwin.errors import UserError
from tritonwin.system.host import Host

Shell = Literal["cmd", "sh"]
SHELLS: tuple[Shell, ...] = get_args(Shell)


class ScriptError(UserError):
    """The plan cannot be written as a script."""


def script(plan: BuildPlan, shell: Shell, host: Host, prepare: Sequence[str]) -> str:
    """The text of the script, with the line ends of its shell.

    Args:
        prepare: the call of tritonwin that puts everything into its place: `build ... --prepare`.

    Raises:
        ScriptError: the plan is refused, is for another system, or cannot be written for the shell.
    """
    if not plan.possible:
        raise ScriptError(
            f"there is no script for a plan that is refused: {plan.refusals[0].message}",
            plan.refusals[0].help,
        )
    if plan.windows != (shell == "cmd"):
        system = "Windows" if plan.windows else "Linux"
        raise ScriptError(
            f"{shell} does not run a plan for {system}", "Take sh on Linux, cmd on Windows."
        )
    title = f"{plan.distribution or plan.recipe} {plan.version} for {plan.target}"
    if plan.source.login:
        title += f"; {plan.source.login} must hold USER:TOKEN for {plan.source.location}"
    title = "".join(c if c.isprintable() else " " for c in title)
    write, end = (_cmd, "\r\n") if shell == "cmd" else (_sh, "\n")
    return "".join(f"{line}{end}" for line in write(title, prepare, command(plan, host)))


# `if errorlevel 1` would miss the negative codes of programs that crash
_CHECK = 'if not "%ERRORLEVEL%"=="0" exit /b 1'


def _cmd(title: str, prepare: Sequence[str], build: Command) -> Iterator[str]:
    # setlocal comes first: its end returns the console to its folder
    yield from ("@echo off", "setlocal DisableDelayedExpansion")
    yield from ('cd /d "%SystemRoot%\\System32"', "chcp 65001 >nul", f"rem --- {title}")
    yield from (" ".join(map(_in_cmd, prepare)), _CHECK, "rem --- the build")
    yield from (f'set "{name}="' for name in build.unset)
    yield from (f'set "{name}={_cmd_value(value)}"' for name, value in build.variables.items())
    yield f'set "PATH={_cmd_value(";".join(build.path))};%PATH%"'
    if build.vcvarsall:
        toolset = f" -vcvars_ver={build.toolset}" if build.toolset else ""
        # with a short PATH: vcvarsall fails where PATH is long
        yield 'set "TW_PATH=%PATH%"'
        yield 'set "PATH=%SystemRoot%\\System32;%SystemRoot%\\System32\\Wbem"'
        yield f"call {_in_cmd(build.vcvarsall)} x64{toolset} >nul"
        yield 'set "PATH=%PATH%;%TW_PATH%"'
        # vcvarsall may end with 0 although it failed
        yield 'if not "%VSCMD_ARG_TGT_ARCH%"=="x64" (echo vcvarsall.bat failed & exit /b 1)'
    yield from (f"cd /d {_in_cmd(build.folder)}", _CHECK)
    yield from (" ".join(map(_in_cmd, build.argv)), _CHECK)


def _in_cmd(word: str) -> str:
    """A word between quotes, as cmd and the C library of the program read it."""
    if '"' in word:
        raise ScriptError(f"{word!r} cannot be written into a batch file", _WITHOUT)
    ends = len(word) - len(word.rstrip("\\"))
    return f'"{_cmd_value(word)}{chr(92) * ends}"'


def _cmd_value(value: str) -> str:
    """A value inside of `set "NAME=..."`: an even number of quotes, and no special sign outside."""
    outside = value.split('"')[1::2]  # the first quote of `set "` is open where the value begins
    if not value.isprintable() or any(sign in part for part in outside for sign in "&|<>^"):
        raise ScriptError(f"{value!r} cannot be written into a batch file", _WITHOUT)
    return value.replace("%", "%%")


_WITHOUT = "Leave it out of the option it comes from, or build without a script."


def _sh(title: str, prepare: Sequence[str], build: Command) -> Iterator[str]:
    yield from ("#!/bin/sh", "set -eu", "cd /", f"# --- {title}")
    yield from (shlex.join(prepare), "# --- the build")
    yield from (f"unset {name} || true" for name in build.unset)
    yield from (f"export {name}={shlex.quote(value)}" for name, value in build.variables.items())
    yield f'export PATH={shlex.quote(":".join(build.path))}:"$PATH"'
    yield from (f"cd {shlex.quote(build.folder)}", shlex.join(build.argv))
