"""`tritonwin driver`: Triton's driver module in Python instead of compiled C."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

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
def switch_on(**given: Any) -> int:
    """Switch it on for this Python, at once.

    Exit status 1 when this Triton's driver is not known: it is left as it is.
    """
    return _tell(lambda session: session.switch_on(), **given)


@command.command("off")
@target_options
@json_option
def switch_off(**given: Any) -> int:
    """Switch it off: Triton compiles its driver module again."""
    return _tell(lambda session: session.switch_off(), **given)


@command.command("status")
@target_options
@json_option
def status(**given: Any) -> int:
    """Show whether it is on, and whether this Triton's driver is known."""
    return _tell(lambda session: session.status(), **given)


def _tell(
    act: Callable[[DriverSession], DriverOutcome], *, target: TargetOptions, as_json: bool
) -> int:
    """Do it with the Triton of the Python that is named, and print what came of it."""
    from tritonwin.driver.carry import DriverSession
    from tritonwin.output import documents, driver
    from tritonwin.patch.session import of_python

    ask = partial(may_start, needed=True)
    triton = of_python(target.python, target.app, target.timeout, ask)
    outcome = act(DriverSession(triton=triton, timeout=target.timeout))
    if as_json:
        documents.print_document(
            documents.outcome_report(driver.DriverReport, triton.target, outcome)
        )
    else:
        driver.print_outcome(outcome)
    return Exit.PROBLEMS if outcome.status == "refused" else Exit.DONE
