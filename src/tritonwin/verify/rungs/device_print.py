"""Let a kernel print, in a process of its own whose output is read: the driver writes it there."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys

import triton
import triton.language as tl
from device import NOT_COMPUTED, computes, first_device, load_driver
from probe_runner import NotApplicableError

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
    device = first_device()
    numbers = device.upload_new("i32", [1000 + i for i in range(PROGRAMS)])
    speak[(PROGRAMS,)](numbers, num_warps=1)
    device.synchronize()


def under_wine() -> bool:
    return sys.platform == "win32" and hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


def heard(said: str, *, wine: bool) -> str:
    """The result of `prove` for a console that shows `said`.

    Raises:
        NotApplicableError: it is empty, as it must be under Wine: a Linux driver writes.
        AssertionError: a number is missing.
    """
    found = {int(number) for number in re.findall(rf"{WORD}\D*?(1\d\d\d)\b", said)}
    if found == {1000 + i for i in range(PROGRAMS)}:
        return f"{PROGRAMS} programs printed their numbers: {said.splitlines()[0].strip()!r}"
    if wine and not said.strip():
        raise NotApplicableError(
            f"{PROGRAMS} programs ran; under Wine a Linux driver prints, to the console of Linux, "
            "which no pipe of Windows reads"
        )
    raise AssertionError(f"{PROGRAMS} numbers should have been printed; this was: {said[:500]!r}")


def prove() -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHILD, os.path.dirname(os.path.abspath(__file__))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(
            f"exit {done.returncode}: {done.stderr.decode('utf-8', 'replace')[-2000:]}"
        )
    if not computes(load_driver()):
        return NOT_COMPUTED
    return heard(done.stdout.decode("utf-8", "replace"), wine=under_wine())
