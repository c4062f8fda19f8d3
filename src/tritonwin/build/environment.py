"""The variables of a build: Visual Studio's environment, then those of the plan.

They reach the programs as a mapping. `set X=1 && ...` in a console stores "1 ", and then nvcc stops
("'1 ': expected a number"), MAX_JOBS counts for nothing and an architecture is lost without a
word. No value with a blank at its end leaves this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tritonwin.build import repository
from tritonwin.build.layout import Layout
from tritonwin.build.login import without_logins
from tritonwin.build.model import BuildPlan, ToolkitChoice
from tritonwin.errors import UserError
from tritonwin.facts.toolchain.msvc import capture
from tritonwin.system.files import is_file
from tritonwin.system.host import Host

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# variables that would change a build without being seen
_CLEARED = (
    "FLASH_ATTENTION_SKIP_CUDA_BUILD",
    "FLASH_ATTENTION_FORCE_CXX11_ABI",
    "FLASH_ATTENTION_TRITON_AMD_ENABLE",
    "SAGEATTN_SKIP_CUDA_BUILD",
    "TORCH_CUDA_ARCH_LIST",
    "NVCC_APPEND_FLAGS",
    "TORCH_EXTENSION_SKIP_NVCC_GEN_DEPENDENCIES",
)
_CLEARED_ON_WINDOWS = ("CC", "CXX")  # torch and setuptools shall take the captured cl
# read by every cl and link, also by the cl inside nvcc, where cudafe++ ends with 0xC0000409
_OF_TOOLS = ("CL", "_CL_", "LINK", "_LINK_", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")
NEVER = (*_OF_TOOLS, *repository.VARIABLES)


class UnfitEnvironmentError(UserError):
    """The environment is not what a build needs."""


def variables(plan: BuildPlan, host: Host) -> dict[str, str]:
    """The whole environment of the build's programs.

    Raises:
        VcvarsError: vcvarsall.bat gave no environment.
        UnfitEnvironmentError: it gave another one than the plan's, or a value is malformed.
    """
    gone = {name.upper() for name in (*NEVER, *plan.unset)}
    data = {k: v for k, v in without_logins(host.env.data).items() if k.upper() not in gone}
    toolset = plan.toolset
    if toolset and toolset.vcvarsall:
        data = capture(Path(toolset.vcvarsall), data, host, toolset=toolset.vcvars_ver)
        verify_capture(data, toolset.version)
    data = {name: value.strip() for name, value in data.items()}
    data = merged(data, checked(plan.environment), windows=plan.windows)
    return _with_folders(data, plan.path, ";" if plan.windows else ":")


def checked(values: Mapping[str, str]) -> dict[str, str]:
    """The values, none of which a program would read as something else.

    Raises:
        UnfitEnvironmentError: a name is none, or a value has something stray around it.
    """
    for name, value in values.items():
        if _NAME.fullmatch(name) is None:
            raise UnfitEnvironmentError(
                f"{name!r} is no name for a variable",
                "It comes from the plan: look at it with --plan",
            )
        if value != value.strip() or value.strip("\"'") != value or not value.isprintable():
            raise UnfitEnvironmentError(
                f"the variable {name} has a stray blank, quote or control character: {value!r}",
                "A program would read another word: leave it out of the option it comes from.",
            )
    return dict(values)


def merged(data: Mapping[str, str], new: Mapping[str, str], *, windows: bool) -> dict[str, str]:
    """Set variables; Windows does not tell PATH from Path, so only one of them may remain."""
    if not windows:
        return {**data, **new}
    names = {name.upper() for name in new}
    return {**{k: v for k, v in data.items() if k.upper() not in names}, **new}


def _with_folders(data: dict[str, str], folders: Sequence[str], between: str) -> dict[str, str]:
    """Put folders at the head of PATH."""
    name = next((n for n in data if n.upper() == "PATH"), "PATH") if between == ";" else "PATH"
    return {**data, name: between.join([*folders, *([data[name]] if data.get(name) else [])])}


def verify_capture(data: Mapping[str, str], version: str) -> None:
    """Refuse an environment that is not the 64-bit one of the toolset: vcvarsall may exit with 0.

    Raises:
        UnfitEnvironmentError: it says which part is wrong.
    """
    upper = {name.upper(): value for name, value in data.items()}
    for name, wanted in (
        ("VSCMD_ARG_TGT_ARCH", "x64"),
        ("VSCMD_ARG_HOST_ARCH", "x64"),
        ("VCTOOLSVERSION", version),
    ):
        if upper.get(name, "").strip("\\") != wanted:
            raise UnfitEnvironmentError(
                f"vcvarsall.bat sets {name} to {upper.get(name)!r}, not {wanted}", _REPAIR
            )
    cl = _first(upper.get("PATH", ""), "cl.exe")
    if cl is None or [part.lower() for part in cl.parts[-3:]] != ["hostx64", "x64", "cl.exe"]:
        raise UnfitEnvironmentError(
            f"the 64-bit cl.exe is not the first on PATH after vcvarsall.bat, but {cl}", _REPAIR
        )
    if "ucrt" not in upper.get("INCLUDE", "").lower():
        raise UnfitEnvironmentError(
            "INCLUDE names no Universal C Runtime after vcvarsall.bat: the Windows SDK is missing",
            _REPAIR,
        )


_REPAIR = "Repair Visual Studio with its installer: VC.Tools.x86.x64 and a Windows SDK."


def _first(path: str, program: str) -> Path | None:
    folders = (Path(part.strip('"')) for part in path.split(";") if part.strip())
    return next((f / program for f in folders if is_file(f / program)), None)


def cleared(*, windows: bool) -> tuple[str, ...]:
    """Variables of the user's that must not reach a build."""
    return (*_CLEARED, *(_CLEARED_ON_WINDOWS if windows else ()))


def planned(layout: Layout, toolkit: ToolkitChoice | None, *, windows: bool) -> dict[str, str]:
    """Variables that every build gets, whatever its recipe says.

    DISTUTILS_USE_SDK must be "1" exactly: setuptools then takes the captured environment in place
    of a 32-bit-hosted one, and flash-attn adds its flags for MSVC. VSLANG asks for messages in
    English, which torch, ninja and people who are to help can read.
    """
    found = {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    found |= dict.fromkeys(("TEMP", "TMP", "TMPDIR"), str(layout.temp))
    if windows:
        found |= {"DISTUTILS_USE_SDK": "1", "VSLANG": "1033", "VSCMD_SKIP_SENDTELEMETRY": "1"}
    else:
        found["LC_ALL"] = "C.UTF-8"
    if toolkit:
        found |= dict.fromkeys(("CUDA_HOME", "CUDA_PATH"), toolkit.path)
        if toolkit.origin == "packages" and not windows:
            # libcudart.so, which a wheel cannot hold, is made there
            found["LIBRARY_PATH"] = str(layout.cuda)
    return found


def folders_of(toolkit: ToolkitChoice | None, *, windows: bool) -> tuple[str, ...]:
    """Folders of the toolkit for PATH: nvcc finds its parts by itself, but not its DLLs."""
    if toolkit is None:
        return ()
    folder = Path(toolkit.path)
    return (str(folder / "bin"), *([str(folder / "nvvm" / "bin")] if windows else []))
