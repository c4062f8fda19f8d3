"""The system that the tests run on; made-up ones: finders.toml."""

from __future__ import annotations

import os
import sys

import pytest

from tritonwin.facts.system import read_system
from tritonwin.system.host import Host


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
