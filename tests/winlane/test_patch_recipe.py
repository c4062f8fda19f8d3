"""The claims of docs/patch/recipe.md on the seven known fixes, on the version they were made for.

Fixes 1 to 5 in their effect on a machine without a CUDA toolkit; 6 and 7 are about other programs.
"""

from __future__ import annotations

import re

import overlay
import pytest
from winlane import Environment, Machine

from tritonwin.patch.rules import BY_ID

_VERSION = overlay.VERSIONS["3.6.0"]
_LDCONFIG = '    libs = subprocess.check_output(["/sbin/ldconfig"'
_OPTIONS = '"-shared", "-fPIC", "-Wno-psabi", "-o", so]\n'
_PYTHON = (
    '    cc_cmd += ["-L" + os.path.join(os.path.dirname(py_include_dir), "libs"), "-lpython312"]\n'
)
# file, text of upstream, what the fix makes of it, how often
_FIXES = (
    ("backends/nvidia/driver.py", _LDCONFIG, f'    if os.name == "nt":\n        return []\n{_LDCONFIG}', 1),
    ("backends/nvidia/driver.py", "libraries = ['libcuda.so.1']", "libraries = ['nvcuda']", 1),
    ("runtime/build.py", _OPTIONS, f'"-shared", "-o", so]\n{_PYTHON}', 1),
)  # fmt: skip
_FIX_3 = ("backends/nvidia/driver.py", "libraries=libraries,", "libraries=[],", 2)


def _applied(machine: Machine) -> Environment:
    made = overlay.overlay(machine, _VERSION)
    for fix in _FIXES:
        _replace(made, *fix)
    # of Fix 5, what it says of driver.c
    overlay.edit(made, [BY_ID["dlfcn"], BY_ID["aligned-memory"]])
    tcc = made.site_packages / "triton/runtime/tcc/tcc.exe"
    machine.variables["CC"] = made.win(tcc)
    return made


def _replace(made: Environment, file: str, old: str, new: str, times: int) -> None:
    path = made.site_packages / "triton" / file
    text = path.read_text("utf-8")
    assert text.count(old) == times
    made.replace(path, text.replace(old, new).encode())


@pytest.mark.full
def test_the_known_recipe_is_not_enough_and_causes_what_it_explains(machine: Machine) -> None:
    made = _applied(machine)
    said = overlay.run(made, "cubin:86", "helper")
    assert re.search(r"WinError 32\b", said["cubin:86"]["error"])
    # TinyCC, unlike other linkers, links the DLL itself
    assert "ok" in said["helper"]

    _replace(made, *_FIX_3)
    # the module is named after its C source alone, so the one above would be taken for good
    assert "ok" in overlay.run(made, "helper")["helper"]
    fresh = {"TRITON_CACHE_DIR": r"C:\fresh"}
    printed = overlay.run(made, "helper", **fresh)["helper"]["printed"]
    missing = set(re.findall(r"undefined symbol '(cu[A-Z]\w+)'", printed))
    assert len(missing) == 13, printed
    assert {"cuGetErrorString", "cuDeviceGet", "cuModuleLoadData"} <= missing
