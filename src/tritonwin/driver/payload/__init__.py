"""Triton's driver module in Python: no compiler, headers or import library at run time.

`adopt` takes a backend's driver module that was just imported, and puts Python functions where it
would compile C. Standard library alone, Python 3.9 or later; nothing of tritonwin is needed.
"""

from __future__ import annotations

from tritonwin.driver.payload.adopt import adopt

__all__ = ["adopt"]
