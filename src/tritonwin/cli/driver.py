"""`tritonwin driver`: Triton's driver module in Python instead of compiled C."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from tritonwin.cli.options import Group, TargetOptions, json_option, may_start, target_options
from tritonwin.errors import Exit

if TYPE_CHECKING:
    from tritonwin.driver.carry import DriverSession
    from tritonwin.driver.records import DriverOutcome


@click.group(
    "driver",
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
)
def command() -> None:
    """Let Triton launch kernels without a C compiler, Python's headers or its import library.

    At the first kernel Triton compiles a small module that calls NVIDIA's driver. With this on,
    Python does the same through ctypes. No file of Triton is changed. torch.compile for the CPU
    still needs cl.exe.

    \b
    Examples:
      tritonwin driver on --app C:\\ComfyUI_windows_portable
      tritonwin driver status
      tritonwin driver off
    """


@command.command("on")
@target_options
@json_option
def switch_on(*, target: TargetOptions, as_json: bool) -> int:
    """Switch it on for this Python, at once.

    Exit status 1 when this Triton's driver is not known: it is left as it is.
    """
    outcome = _session(target).switch_on()
    _show(outcome, as_json=as_json)
    return Exit.PROBLEMS if outcome.status == "refused" else Exit.DONE


@command.command("off")
@target_options
@json_option
def switch_off(*, target: TargetOptions, as_json: bool) -> int:
    """Switch it off: Triton compiles its driver module again."""
    _show(_session(target).switch_off(), as_json=as_json)
    return Exit.DONE


@command.command("status")
@target_options
@json_option
def status(*, target: TargetOptions, as_json: bool) -> int:
    """Show whether it is on, and whether this Triton's driver is known."""
    _show(_session(target).status(), as_json=as_json)
    return Exit.DONE


def _session(target: TargetOptions) -> DriverSession:
    from tritonwin.driver.carry import of_python

    return of_python(target.python, target.app, target.timeout, partial(may_start, needed=True))


def _show(outcome: DriverOutcome, *, as_json: bool) -> None:
    from tritonwin.output import documents, driver

    if as_json:
        documents.print_document(driver.document(outcome))
    else:
        driver.print_outcome(outcome)
