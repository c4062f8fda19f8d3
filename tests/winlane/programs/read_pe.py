"""Runs inside Windows: imports and file version of a DLL, as pefile reads them."""

import json
import sys

import pefile

with pefile.PE(sys.argv[1]) as pe:
    info = pe.VS_FIXEDFILEINFO[0]
    imports = {
        entry.dll.decode(): [each.name.decode() for each in entry.imports if each.name]
        for entry in pe.DIRECTORY_ENTRY_IMPORT
    }
    version = [info.FileVersionMS >> 16, info.FileVersionMS & 0xFFFF,
               info.FileVersionLS >> 16, info.FileVersionLS & 0xFFFF]  # fmt: skip
print(json.dumps({"imports": imports, "version": version}))
