"""The local page of a program that runs in the lane: Wine's sockets are those of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from page_client import PageClient
from winlane import Machine


def opened(process: subprocess.Popen[bytes]) -> PageClient:
    """The page, once the program has said where it is."""
    assert process.stdout
    said = b""
    for line in process.stdout:
        said += line
        if b"The page: " in line:
            client = PageClient(line.split()[-1].decode())
            client.enter()
            return client
    raise AssertionError(said)


@contextmanager
def serving(
    machine: Machine, words: Sequence[str]
) -> Iterator[tuple[PageClient, subprocess.Popen[bytes]]]:
    """`tritonwin ui` while it runs; killed with the block."""
    command, variables = machine.lane.command(("ui", "--no-browser", *words))
    with machine.begin(subprocess.list2cmdline(command), env=variables) as process:
        yield opened(process), process
