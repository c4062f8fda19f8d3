"""Appended to backends/amd/compiler.py: a temporary file that other programs may open."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from types import SimpleNamespace


@contextlib.contextmanager
def _tritonwin_closed_file() -> Iterator[SimpleNamespace]:
    """Like NamedTemporaryFile, but on Windows the file is closed when its name is given out."""
    if os.name != "nt":
        with tempfile.NamedTemporaryFile() as file:
            yield SimpleNamespace(name=file.name)
        return
    handle, name = tempfile.mkstemp()
    os.close(handle)
    try:
        yield SimpleNamespace(name=name)
    finally:
        with contextlib.suppress(OSError):
            os.remove(name)
