"""Runs inside Windows: programs one after the other in a process that has imported torch.

That import takes ten seconds and more in the lane. Each program ends as it would alone: its
traceback is printed, and the next one begins after a line of MARK and its name.
"""

import runpy
import sys
import traceback

import torch  # noqa: F401

MARK = "\x1e"


def of_the_program(trace):
    """A traceback without the frames of this file and of runpy."""
    while trace and trace.tb_frame.f_code.co_filename in (
        __file__,
        runpy.__file__,
        "<frozen runpy>",
    ):
        trace = trace.tb_next
    return trace


sys.stderr = sys.stdout  # one stream keeps the order
for program in sys.argv[1:]:
    print(f"{MARK}{program}", flush=True)
    sys.argv[:] = [program]
    try:
        runpy.run_path(program, run_name="__main__")
    except BaseException as error:
        traceback.print_exception(type(error), error, of_the_program(error.__traceback__))
