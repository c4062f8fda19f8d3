"""Load files as Python loads compiled modules, and say what came along.

    python load_dlls.py [--import MODULE ...] FILE ...

One JSON object: "errors", the error number of Windows (0: loaded) by file, and "modules", the path
of everything that is in the process at the end.
"""

import ctypes
import importlib
import json
import sys
from ctypes import wintypes

LOAD_LIBRARY_SEARCH_DEFAULT_DIRS, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR = 0x1000, 0x100


def error_of(path):
    try:
        ctypes.WinDLL(
            path, winmode=LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
        )
    except OSError as error:
        # ctypes makes one of its own of "not found", without a number
        return error.winerror or 126
    return 0


def modules():
    kernel32, psapi = ctypes.WinDLL("kernel32"), ctypes.WinDLL("psapi")
    kernel32.GetCurrentProcess.restype = wintypes.HANDLE
    process = wintypes.HANDLE(kernel32.GetCurrentProcess())
    handles = (wintypes.HMODULE * 4096)()
    used = wintypes.DWORD()
    psapi.EnumProcessModules(process, handles, ctypes.sizeof(handles), ctypes.byref(used))
    name = ctypes.create_unicode_buffer(32768)
    for handle in handles[: used.value // ctypes.sizeof(wintypes.HMODULE)]:
        psapi.GetModuleFileNameExW(process, wintypes.HMODULE(handle), name, len(name))
        yield name.value


def main(words):
    names = []
    while words and words[0] == "--import":
        names.append(words[1])
        words = words[2:]
    for name in names:
        importlib.import_module(name)
    errors = {path: error_of(path) for path in words}
    print("ANSWER" + json.dumps({"errors": errors, "modules": list(modules())}))


main(sys.argv[1:])
