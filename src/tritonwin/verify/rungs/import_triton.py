"""Import Triton and its compiled library, and see which libraries that brought along."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

_MOST_MODULES = 1024
_LONGEST_PATH = 1024
# where a Windows program gets its C++ library from decides whether libtriton loads
_TELLING = ("libtriton", "msvcp", "vcruntime", "concrt", "libstdc++", "amdhip", "nvcuda")


def loaded() -> list[str]:
    """The libraries of this process."""
    if sys.platform == "win32":
        return _loaded_on_windows()
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            paths = [line.split(None, 5)[5].strip() for line in maps if "/" in line]
    except OSError:
        return []
    return [p for p in dict.fromkeys(paths) if ".so" in os.path.basename(p)]


def _loaded_on_windows() -> list[str]:
    kernel = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    process = ctypes.c_void_p(kernel.GetCurrentProcess())
    modules = (ctypes.c_void_p * _MOST_MODULES)()
    needed = ctypes.c_ulong()
    size = ctypes.sizeof(modules)
    if not kernel.K32EnumProcessModules(process, modules, size, ctypes.byref(needed)):
        return []
    count = min(_MOST_MODULES, needed.value // ctypes.sizeof(ctypes.c_void_p))
    paths = []
    for module in modules[:count]:
        name = ctypes.create_unicode_buffer(_LONGEST_PATH)
        kernel.K32GetModuleFileNameExW(process, ctypes.c_void_p(module), name, _LONGEST_PATH)
        paths.append(name.value)
    return paths


def prove() -> tuple[str, dict[str, Any]]:
    before = set(loaded())
    import triton
    from triton._C import libtriton

    folder = os.path.dirname(triton.__file__)
    library = os.path.basename(libtriton.__file__)
    after = loaded()
    telling = [p for p in after if os.path.basename(p).lower().startswith(_TELLING)]
    brought = sum(p not in before for p in after)
    return f"triton {triton.__version__} from {folder}, {library}", {
        "version": triton.__version__,
        "libraries loaded": brought,
        **{os.path.basename(path).lower(): path for path in telling},
    }
