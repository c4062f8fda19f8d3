"""`tritonwin driver`: Triton's driver module in Python instead of compiled C."""

from __future__ import annotations

from functools import partial

from tritonwin.cli.options import TargetOptions, may_start, switch
from tritonwin.errors import Exit

_ABOUT = """
    Let Triton launch kernels without a C compiler, Python's headers or its import library.

    At the first kernel Triton compiles a small module that calls NVIDIA's driver. With this on,
    Python does the same through ctypes. No file of Triton is changed. torch.compile for the CPU
    still needs cl.exe.

    \b
    Examples:
      tritonwin driver on --app C:\\ComfyUI_windows_portable
      tritonwin driver status
      tritonwin driver off
    """


def _act(word: str, target: TargetOptions, as_json: bool) -> int:
    """Do it with the Triton of the Python that is named, and print the outcome."""
    from tritonwin.driver.carry import DriverSession
    from tritonwin.output.documents import outcome_report
    from tritonwin.output.outcomes import DriverReport, of_driver
    from tritonwin.output.terminal import answer
    from tritonwin.patch.session import of_python

    ask = partial(may_start, needed=True)
    triton = of_python(target.python, target.app, target.timeout, ask)
    session = DriverSession(triton=triton, timeout=target.timeout)
    acts = {"on": session.switch_on, "off": session.switch_off, "status": session.status}
    report = outcome_report(DriverReport, triton.target, acts[word]())
    answer(report, of_driver(report), as_json=as_json)
    return Exit.PROBLEMS if report.status == "refused" else Exit.DONE


command = switch(
    "driver",
    _ABOUT,
    {
        "on": (
            "Switch it on for this Python, at once.\n\n"
            "Exit status 1 when this Triton's driver is not known: it is left as it is."
        ),
        "off": "Switch it off: Triton compiles its driver module again.",
        "status": "Show whether it is on, and whether this Triton's driver is known.",
    },
    _act,
)
