"""The system that the tests run on, and texts of Linux and git; made-up ones: finders.toml."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from cases import cases
from hosts import fake_host
from trees import write

from tritonwin.facts.system import git_long_paths, parse_meminfo, read_system
from tritonwin.system.host import Host
from tritonwin.system.winapi import Memory


@pytest.mark.skipif(sys.platform == "win32", reason="reads this Linux")
def test_this_machine() -> None:
    found = read_system(Host.this_machine())
    assert found.os == ("linux" if sys.platform == "linux" else "other")
    assert found.version == os.uname().release
    assert found.machine == os.uname().machine
    assert found.cpu_count == os.cpu_count()
    assert (found.long_paths, found.developer_mode, found.wine) == (None, None, None)
    assert found.admin is (os.geteuid() == 0)
    assert found.memory_bytes is not None
    assert found.memory_bytes > 2**24
    assert set(found.sources) <= set(vars(found))


def test_meminfo() -> None:
    text = "MemTotal:       32768000 kB\nMemFree:  1 kB\nMemAvailable:   16384000 kB\nX\n"
    assert parse_meminfo(text) == Memory(32768000 * 1024, 16384000 * 1024, 16384000 * 1024)
    with pytest.raises(KeyError):
        parse_meminfo("MemTotal: 1 kB\n")


@pytest.mark.parametrize(("text", "expected"), cases("variables.toml", "git_settings"))
def test_git_settings(tmp_path: Path, text: str, expected: bool) -> None:
    write(tmp_path, {".gitconfig": text})
    assert git_long_paths(fake_host(tmp_path))[0] is expected
