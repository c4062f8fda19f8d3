"""`tritonwin run`: start the target in the environment that it needs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from tritonwin.cli.options import TargetOptions, path_option, target_options
from tritonwin.cli.signals import ToldToEndError, ctrl_c_is_not_ours
from tritonwin.errors import Exit, UserError


@click.command("run", context_settings={"ignore_unknown_options": True})
@target_options
@path_option("--write-bat", "FILE", "Start nothing: write a batch file for a double click.")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def command(
    *,
    target: TargetOptions,
    write_bat: Path | None,
    args: tuple[str, ...],
) -> int:
    """Start a Python with the environment that Triton and torch.compile need.

    Visual Studio's variables are captured from its own vcvarsall.bat, variables that doctor finds
    wrong are left out, and the caches get short folders where Windows allows no long paths.
    Nothing is changed on disk. The exit status is that of the program.

    \b
    Examples:
      tritonwin run -- main.py --listen
      tritonwin run --app C:\\ComfyUI_windows_portable --write-bat start.bat -- ComfyUI\\main.py
    """
    from tritonwin.output import terminal
    from tritonwin.problems.checks import CHECKS
    from tritonwin.problems.doctor import diagnose
    from tritonwin.remedies import launch
    from tritonwin.system.files import refuse_foreign, write_text
    from tritonwin.system.host import Host

    host = Host.this_machine(target.app)
    facts = target.collect(host=host)
    if facts.target is None:
        raise UserError("there is no Python to start", "Name it: --python EXE")
    chosen = launch.settings(facts, diagnose(facts, CHECKS).problems)
    if write_bat is None:
        variables = launch.environment(chosen, host)
        return _start([facts.target.executable, *args], variables)
    refuse_foreign(write_bat, launch.MARK)
    text = launch.batch_file(chosen, facts.target.executable, args)
    write_text(write_bat, text)
    terminal.print_note(f"written: {write_bat}")
    return Exit.DONE


def _start(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Start the program and wait for its end, to which no time limit is ours to set.

    It owns the console: Ctrl-C reaches it as well, and what that means is for it to say.
    """
    with ctrl_c_is_not_ours(), subprocess.Popen(words, env=variables) as process:
        try:
            code = process.wait()
        except ToldToEndError:
            process.terminate()
            code = process.wait()
    return code if code >= 0 else 128 - code
