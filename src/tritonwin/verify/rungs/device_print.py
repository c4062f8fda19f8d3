"""Let a kernel print, in a process of its own whose output is read: the driver writes it there."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import triton
import triton.language as tl
from device import NOT_COMPUTED, Device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORD = "tritonwin says"
SECONDS = 200
PROGRAMS = 3
# an embedded Python would not look beside a script
CHILD = "import sys; sys.path.insert(0, sys.argv[1]); import device_print; device_print.main()"


@triton.jit
def speak(x_ptr):
    program = tl.program_id(0)
    tl.device_print("tritonwin says", tl.load(x_ptr + program))


def main() -> None:
    triton.runtime.driver.active.get_current_target()  # before torch is imported: see driver.py
    device = Device()
    numbers = device.upload_new("i32", [1000 + i for i in range(PROGRAMS)])
    speak[(PROGRAMS,)](numbers, num_warps=1)
    device.synchronize()


def prove(arguments: dict[str, Any]) -> str:
    del arguments
    computes = Device().computes
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHILD, os.path.dirname(os.path.abspath(__file__))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        msg = f"exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-2000:]}"
        raise RuntimeError(msg)
    if not computes:
        return NOT_COMPUTED
    found = {int(number) for number in re.findall(rf"{WORD}\D*?(1\d\d\d)\b", said)}
    if found != {1000 + i for i in range(PROGRAMS)}:
        msg = f"{PROGRAMS} numbers should have been printed; this was: {said[:500]!r}"
        raise AssertionError(msg)
    return f"{PROGRAMS} programs printed their numbers: {said.splitlines()[0].strip()!r}"
