"""`tritonwin completion`: scripts that let a shell complete commands and options."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
)

from tritonwin.cli.options import COMPLETING
from tritonwin.errors import Exit

# Windows PowerShell 5.1 and PowerShell 7. Only a native completer passes on names that start with
# a dash. The words are passed in variables, because arguments would need quoting.
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $before = $commandAst.CommandElements |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } |
        ForEach-Object { $_.Extent.Text }
    $saved = $env:COMP_WORDS, $env:COMP_WORD, $env:%(complete_var)s
    $env:COMP_WORDS = $before -join "`n"
    $env:COMP_WORD = $wordToComplete
    $env:%(complete_var)s = 'powershell_complete'
    try {
        & %(prog_name)s | ForEach-Object {
            $kind, $value, $help = $_ -split "`t", 3
            if ($kind -eq 'plain') {
                [System.Management.Automation.CompletionResult]::new(
                    $value, $value, 'ParameterValue', $(if ($help) { $help } else { $value }))
            }
        }
    } finally {
        $env:COMP_WORDS, $env:COMP_WORD, $env:%(complete_var)s = $saved
    }
}
"""


class PowerShell(ShellComplete):
    """PowerShell, which click does not know by itself."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the incomplete one, and the incomplete one."""
        words = os.environ.get("COMP_WORDS", "").splitlines()[1:]
        incomplete = os.environ.get("COMP_WORD", "")
        if incomplete and words and words[-1] == incomplete:
            words.pop()
        return words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """One line: kind, value and help, separated by tabs."""
        return "\t".join((item.type, str(item.value), " ".join((item.help or "").split())))


class Bash(BashComplete):
    """click's class, without its check of the version, which starts any `bash` that it finds."""

    @staticmethod
    def _check_version() -> None:
        pass


add_completion_class(PowerShell)
add_completion_class(Bash)


@click.command("completion")
@click.argument("shell", type=click.Choice(["powershell", "bash", "zsh"]), metavar="SHELL")
@click.pass_context
def command(ctx: click.Context, *, shell: str) -> int:
    """Print the script that lets a shell complete tritonwin's commands and options.

    \b
    Examples:
      tritonwin completion powershell >> $PROFILE
      tritonwin completion bash >> ~/.bashrc
      tritonwin completion zsh >> ~/.zshrc
    """
    completer = get_completion_class(shell)
    if completer is None:  # click knows every shell of the choice
        raise AssertionError(shell)
    click.echo(completer(ctx.find_root().command, {}, "tritonwin", COMPLETING).source(), nl=False)
    return Exit.DONE
