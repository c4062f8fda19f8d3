"""Visual Studio's environment, as its own vcvarsall.bat sets it.

vcvarsall.bat may end with 0 although it failed, fails with "The input line is too long" where PATH
is long or was extended by it before, and prints what code pages spoil. So it runs with a short
PATH and without the variables of an earlier activation, and a Python at the end of the batch tells
the outcome as JSON.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from tritonwin.errors import UserError
from tritonwin.facts.target import parse_answer
from tritonwin.system.host import Host
from tritonwin.system.process import run
from tritonwin.system.scratch import scratch_folder

# What an earlier vcvarsall, perhaps half of one or one for x86, left: it would be taken for done.
ACTIVATION = (
    "INCLUDE",
    "LIB",
    "LIBPATH",
    "EXTERNAL_INCLUDE",
    "DevEnvDir",
    "VSINSTALLDIR",
    "VCINSTALLDIR",
    "VCIDEInstallDir",
    "VCToolsInstallDir",
    "VCToolsRedistDir",
    "VCToolsVersion",
    "VisualStudioVersion",
    "VSCMD_VER",
    "VSCMD_ARG_app_plat",
    "VSCMD_ARG_HOST_ARCH",
    "VSCMD_ARG_TGT_ARCH",
    "VSCMD_ARG_VCVARS_VER",
    "__VSCMD_PREINIT_PATH",
    "WindowsSdkDir",
    "WindowsSDKVersion",
    "WindowsSDKLibVersion",
    "WindowsLibPath",
    "UniversalCRTSdkDir",
    "UCRTVersion",
)
_SECONDS = 120
_BATCH = b"""\
@call "%TRITONWIN_VCVARSALL%" %TRITONWIN_VCVARS_ARGUMENTS% >nul
@"%TRITONWIN_PYTHON%" -I -B -c "import json, os, sys; c = sys.argv[1]; \
sys.stdout.write(c + json.dumps(dict(os.environ)) + c[::-1])" %1
"""


class VcvarsError(UserError):
    """Visual Studio's environment could not be captured."""


def capture(
    vcvarsall: Path, data: Mapping[str, str], host: Host, *, toolset: str | None = None
) -> dict[str, str]:
    """The environment after `vcvarsall.bat x64`: 64-bit tools for 64-bit programs.

    Args:
        data: the environment before; its PATH comes behind what vcvarsall puts there.
        toolset: the version for `-vcvars_ver=`, such as "14.44"; None: the default one.

    Raises:
        VcvarsError: no environment came back, or one without INCLUDE.
    """
    system32 = host.system32()
    if system32 is None:
        raise VcvarsError("SystemRoot is not set")
    gone = {name.upper() for name in ACTIVATION}
    kept = {k: v for k, v in data.items() if k.upper() not in gone}
    path = next((v for k, v in kept.items() if k.upper() == "PATH"), "")
    short = ";".join(str(system32 / end) for end in ("", "Wbem", "WindowsPowerShell/v1.0"))
    answer = _ask(
        vcvarsall,
        {**{k: v for k, v in kept.items() if k.upper() != "PATH"}, "PATH": short},
        system32 / "cmd.exe",
        "x64" if toolset is None else f"x64 -vcvars_ver={toolset}",
    )
    found = {n: v for n, v in answer.items() if not n.upper().startswith("TRITONWIN_VCVARS")}
    return _with_path(found, short, path)


def _ask(vcvarsall: Path, data: dict[str, str], cmd: Path, arguments: str) -> dict[str, str]:
    cookie = secrets.token_hex(16)
    own = {
        "TRITONWIN_VCVARSALL": str(vcvarsall),
        "TRITONWIN_VCVARS_ARGUMENTS": arguments,
        "TRITONWIN_PYTHON": sys.executable,
        "VSCMD_SKIP_SENDTELEMETRY": "1",
    }
    with scratch_folder() as folder:
        batch = folder / "capture.bat"
        batch.write_bytes(_BATCH.replace(b"\n", b"\r\n"))
        done = run(
            cmd,
            ("/d", "/c", str(batch), cookie),
            timeout=_SECONDS,
            env={**data, **own},
            cwd=folder,
        )
    answer = parse_answer(done.out, cookie)
    if answer is None or not any(name.upper() == "INCLUDE" for name in answer):
        said = done.err.decode("utf-8", "replace").strip()[-300:]
        raise VcvarsError(
            f"{vcvarsall} {arguments} gave no environment: {done.ending()} {said}".strip(),
            "Repair Visual Studio with its installer, component VC.Tools.",
        )
    return {n: str(value) for n, value in answer.items() if n != "TRITONWIN_PYTHON"}


def _with_path(found: dict[str, str], short: str, path: str) -> dict[str, str]:
    """What vcvarsall put before the short PATH, then the PATH that there was."""
    name = next((n for n in found if n.upper() == "PATH"), "PATH")
    added = found.pop(name, "").removesuffix(short).rstrip(";")
    return {**found, name: ";".join(part for part in (added, path or short) if part)}
