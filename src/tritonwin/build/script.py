"""A plan as a script for cmd, PowerShell or sh that runs without tritonwin.

A script first leaves the folder that it is started in, often one of downloads: cmd looks there for
every program that it is given without a folder (git, chcp, and what vcvarsall.bat calls) before it
looks in PATH, and every shell does where PATH has "." or an empty entry. All paths are absolute.

In cmd a variable is set by `set "NAME=value"`: the quotes keep the blank out that
`set NAME=value && ...` puts at the end of the value.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, get_args

from tritonwin.build.model import BuildPlan
from tritonwin.build.steps import Folder, Head, Note, Run, ScriptError, Set, Step, steps

Shell = Literal["cmd", "powershell", "sh"]
SHELLS: tuple[Shell, ...] = get_args(Shell)


def script(plan: BuildPlan, shell: Shell, addresses: Callable[[], Mapping[str, str]] = dict) -> str:
    """The text of the script, with the line ends of its shell.

    Args:
        addresses: gives file name -> address, for what the script has to fetch.

    Raises:
        ScriptError: the plan is refused, is for another system, or holds what the shell cannot say.
    """
    if plan.windows != (shell != "sh"):
        system = "Windows" if plan.windows else "Linux"
        raise ScriptError(
            f"{shell} does not run a plan for {system}",
            "Take sh on Linux, cmd or powershell on Windows.",
        )
    write = _WRITERS[shell]
    end = "\n" if shell == "sh" else "\r\n"
    return "".join(f"{line}{end}" for line in write(steps(plan, addresses())))


# --- cmd

# `if errorlevel 1` would miss the negative codes of programs that crash
_CMD_CHECK = 'if not "%ERRORLEVEL%"=="0" exit /b 1'


def _cmd(found: Iterator[Step]) -> Iterator[str]:
    # setlocal comes first: its end gives the console its folder back
    yield from ("@echo off", "setlocal DisableDelayedExpansion")
    yield from ('cd /d "%SystemRoot%\\System32"', "chcp 65001 >nul")
    for step in found:
        match step:
            case Note(text=text):
                yield f"rem --- {_one_line(text)}"
            case Folder(path=path):
                yield f"if not exist {_in_cmd(path)} mkdir {_in_cmd(path)}"
                yield f"if not exist {_in_cmd(path)} exit /b 1"
            case Set(name=name, value=value):
                yield f'set "{name}={_cmd_value(value or "")}"'
            case Head(folders=folders):
                yield f'set "PATH={_cmd_value(";".join(folders))};%PATH%"'
            case Run():
                yield from _cmd_run(step)


def _cmd_run(step: Run) -> Iterator[str]:
    if step.vcvarsall:
        toolset = f" -vcvars_ver={step.toolset}" if step.toolset else ""
        # with a short PATH: vcvarsall fails where PATH is long
        yield 'set "TW_PATH=%PATH%"'
        yield 'set "PATH=%SystemRoot%\\System32;%SystemRoot%\\System32\\Wbem"'
        yield f"call {_in_cmd(step.vcvarsall)} x64{toolset} >nul"
        yield 'set "PATH=%PATH%;%TW_PATH%"'
        # vcvarsall may end with 0 although it failed
        yield 'if not "%VSCMD_ARG_TGT_ARCH%"=="x64" (echo vcvarsall.bat failed & exit /b 1)'
    if step.cwd:
        yield f"cd /d {_in_cmd(step.cwd)}"
        yield _CMD_CHECK
    unless = f"if not exist {_in_cmd(step.unless)} " if step.unless else ""
    yield f"{unless}{' '.join(map(_in_cmd, step.words))}"
    yield _CMD_CHECK


def _in_cmd(word: str) -> str:
    """A word between quotes, as cmd and the C library of the program read it."""
    if '"' in word:
        raise ScriptError(
            f"{word!r} cannot be written into a batch file", "Take the powershell script."
        )
    ends = len(word) - len(word.rstrip("\\"))
    return f'"{_cmd_value(word)}{chr(92) * ends}"'


def _cmd_value(value: str) -> str:
    """A value inside of `set "NAME=..."`: an even number of quotes, and no special sign outside."""
    outside = value.split('"')[1::2]  # the first quote of `set "` is open where the value begins
    if _one_line(value) != value or any(sign in part for part in outside for sign in "&|<>^"):
        raise ScriptError(
            f"{value!r} cannot be written into a batch file", "Take the powershell script."
        )
    return value.replace("%", "%%")


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)


# --- PowerShell


def _powershell(found: Iterator[Step]) -> Iterator[str]:
    yield "$ErrorActionPreference = 'Stop'"
    yield 'Set-Location -LiteralPath "$env:SystemRoot\\System32"'
    for step in found:
        match step:
            case Note(text=text):
                yield f"# --- {_one_line(text)}"
            case Folder(path=path):
                yield f"[void](New-Item -ItemType Directory -Force -Path {_in_ps(path)})"
            case Set(name=name, value=None):
                yield f"$env:{name} = $null"
            case Set(name=name, value=str(value)):
                yield f"$env:{name} = {_in_ps(value)}"
            case Head(folders=folders):
                yield f"$env:PATH = {_in_ps(';'.join(folders))} + ';' + $env:PATH"
            case Run():
                yield from _ps_run(step)


def _ps_run(step: Run) -> Iterator[str]:
    if step.cwd:
        yield f"Set-Location -LiteralPath {_in_ps(step.cwd)}"
    words = step.words
    if step.vcvarsall:
        # cmd takes vcvarsall's environment over; what was set above is there already
        toolset = f" -vcvars_ver={step.toolset}" if step.toolset else ""
        call = f"call {_in_cmd(step.vcvarsall)} x64{toolset} >nul && "
        line = call + " ".join(map(_in_cmd, words))
        if "%" in line:
            raise ScriptError(
                "a path with a percent sign cannot be passed through PowerShell to cmd",
                "Name another folder: --root DIR",
            )
        yield f"& $env:ComSpec /d /s /c {_in_ps(f' {line} ')}"
    else:
        command = f"& {' '.join(map(_in_ps, words))}"
        unless = f"if (-not (Test-Path -LiteralPath {_in_ps(step.unless or '')})) "
        yield f"{unless}{{ {command} }}" if step.unless else command
    yield "if ($LASTEXITCODE) { exit 1 }"


def _in_ps(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


# --- sh


def _sh(found: Iterator[Step]) -> Iterator[str]:
    yield from ("#!/bin/sh", "set -eu", "cd /")
    for step in found:
        match step:
            case Note(text=text):
                yield f"# --- {_one_line(text)}"
            case Folder(path=path):
                yield f"mkdir -p {shlex.quote(path)}"
            case Set(name=name, value=None):
                yield f"unset {name} || true"
            case Set(name=name, value=str(value)):
                yield f"export {name}={shlex.quote(value)}"
            case Head(folders=folders):
                yield f'export PATH={shlex.quote(":".join(folders))}:"$PATH"'
            case Run():
                yield from _sh_run(step)


def _sh_run(step: Run) -> Iterator[str]:
    if step.cwd:
        yield f"cd {shlex.quote(step.cwd)}"
    unless = f"test -e {shlex.quote(step.unless)} || " if step.unless else ""
    yield f"{unless}{shlex.join(step.words)}"


_WRITERS: Mapping[Shell, Callable[[Iterator[Step]], Iterator[str]]] = {
    "cmd": _cmd,
    "powershell": _powershell,
    "sh": _sh,
}
