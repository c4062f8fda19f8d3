"""The command of a build with its variables: started by the runner, or listed as a script.

The variables are Visual Studio's environment, then those of the plan. They reach the programs as a
mapping. `set X=1 && ...` in a console stores "1 ", and then nvcc stops ("'1 ': expected a number"),
MAX_JOBS is ignored and an architecture is lost without a message. No value but NINJA_STATUS has a
blank at its end. A script says `set "NAME=value"`, whose quotes keep the blank out.

A script first leaves the folder that it is started in, often one of downloads: cmd looks there for
every program without a folder, such as those that vcvarsall.bat calls, before it looks in PATH. All
paths are absolute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath

from tritonwin.build.records import BuildPlan, Layout, Toolkit
from tritonwin.build.source import GIT_VARIABLES
from tritonwin.errors import UserError
from tritonwin.facts.toolchain.msvc import capture
from tritonwin.system import shells
from tritonwin.system.files import is_file
from tritonwin.system.host import Environment, Host, merged, with_folders
from tritonwin.system.shells import ScriptError

# variables that would change a build without being seen
_CLEARED = (
    "FLASH_ATTN_LOCAL_VERSION",  # the plan's is put into the wheel
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
_OF_TOOLS = ("CL", "_CL_", "LINK", "_LINK_")
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
NEVER = (*_OF_TOOLS, *_OF_PYTHON, *GIT_VARIABLES)
# 2020-01-01: a wheel depends on its sources, not on the hour at which it was made
_EPOCH = "1577836800"


def argv(plan: BuildPlan) -> tuple[str, ...]:
    """The words of the command, which is started in `plan.project`."""
    return (str(plan.layout.python), *plan.command)


def environment(plan: BuildPlan, host: Host, captured: Mapping[str, str]) -> dict[str, str]:
    """All variables of the command, from those that `inherited` captured.

    Raises:
        UserError: a value is malformed.
    """
    data = merged(captured, _variables(plan, host), windows=plan.windows)
    return with_folders(data, _path(plan), windows=plan.windows)


def _variables(plan: BuildPlan, host: Host) -> dict[str, str]:
    return {
        "SOURCE_DATE_EPOCH": host.env.get("SOURCE_DATE_EPOCH") or _EPOCH,
        **checked(plan.environment),
        **dict.fromkeys(("TEMP", "TMP", "TMPDIR"), str(plan.layout.temp)),
        "NINJA_STATUS": "[%f/%t] ",
    }


def _path(plan: BuildPlan) -> tuple[str, ...]:
    """Folders for the head of PATH: those of the build environment come before the target's."""
    python = plan.layout.python
    folders = [python.parent, type(python)(plan.target).parent]
    if plan.windows:  # where a copied runtime has programs, and a Python that is no environment
        folders += [folder / "Scripts" for folder in folders]
    return (*map(str, folders), *plan.path)


def _cleared(plan: BuildPlan) -> tuple[str, ...]:
    """Variables of the user's that must not reach a build."""
    return (*NEVER, *_CLEARED, *(_CLEARED_ON_WINDOWS if plan.windows else ()))


def inherited(plan: BuildPlan, host: Host) -> dict[str, str]:
    """The variables that the build takes over: this process's, with Visual Studio's.

    Raises:
        VcvarsError: vcvarsall.bat gave no environment.
        UserError: it gave another one than the plan's.
    """
    data = merged(host.env.data, dict.fromkeys(_cleared(plan)), windows=plan.windows)
    toolset = plan.toolset
    if toolset and toolset.vcvarsall:
        data = capture(Path(toolset.vcvarsall), data, host, toolset=toolset.version)
        verify_capture(data, toolset.version)
    return {name: value.strip() for name, value in data.items()}


def checked(values: Mapping[str, str]) -> dict[str, str]:
    """The values, none of which a program would read as something else.

    Raises:
        UserError: a value has something stray around it.
    """
    for name, value in values.items():
        if value != value.strip() or value.strip("\"'") != value or not value.isprintable():
            raise UserError(
                f"the variable {name} has a stray blank, quote or control character: {value!r}",
                "A program would read another word: leave it out of the option it comes from.",
            )
    return dict(values)


def verify_capture(data: Mapping[str, str], version: str) -> None:
    """Refuse an environment that is not the 64-bit one of the toolset: vcvarsall may exit with 0.

    Raises:
        UserError: it says which part is wrong.
    """
    env = Environment(data, windows=True)
    cl = next((f / "cl.exe" for f in env.path_entries() if is_file(f / "cl.exe")), Path())
    wanted = {"VSCMD_ARG_TGT_ARCH": "x64", "VSCMD_ARG_HOST_ARCH": "x64", "VCToolsVersion": version}
    wrong = [
        f"it sets {name} to {env.get(name)!r}, not {value}"
        for name, value in wanted.items()
        if (env.get(name) or "").strip("\\") != value
    ]
    if [part.lower() for part in cl.parts[-3:]] != ["hostx64", "x64", "cl.exe"]:
        wrong.append(f"the 64-bit cl.exe is not the first on PATH, but {cl}")
    if "ucrt" not in (env.get("INCLUDE") or "").lower():
        wrong.append("INCLUDE names no Universal C Runtime: the Windows SDK is missing")
    if wrong:
        raise UserError(
            f"vcvarsall.bat left an environment that cannot build: {wrong[0]}",
            "Repair Visual Studio with its installer: VC.Tools.x86.x64 and a Windows SDK.",
        )


def planned(layout: Layout, toolkit: Toolkit | None) -> dict[str, str]:
    """Variables that every build gets, whatever its recipe says.

    DISTUTILS_USE_SDK must be "1" exactly: setuptools then takes the captured environment in place
    of a 32-bit-hosted one, and flash-attn adds its flags for MSVC. VSLANG asks for messages in
    English, which torch and ninja can read.
    """
    found = {"PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if layout.windows:
        found |= {"DISTUTILS_USE_SDK": "1", "VSLANG": "1033", "VSCMD_SKIP_SENDTELEMETRY": "1"}
    else:
        found["LC_ALL"] = "C.UTF-8"
    if toolkit:
        found |= dict.fromkeys(("CUDA_HOME", "CUDA_PATH"), toolkit.path)
    return found


def folders_of(toolkit: Toolkit | None, *, windows: bool) -> tuple[str, ...]:
    """Folders of the toolkit for PATH: nvcc finds its parts by itself, but not its DLLs."""
    if toolkit is None:
        return ()
    folder = PureWindowsPath(toolkit.path) if windows else PurePosixPath(toolkit.path)
    return (str(folder / "bin"), *([str(folder / "nvvm" / "bin")] if windows else []))


# --- as a script


def script(plan: BuildPlan, host: Host) -> str:
    """The build's own command in its environment, as a batch file.

    It runs in the folder that `build` has prepared.

    Raises:
        ScriptError: the plan is refused, is not for Windows, or cannot be written into a batch.
    """
    if not plan.possible:
        raise ScriptError(
            f"there is no script for a plan that is refused: {plan.refusals[0].message}",
            plan.refusals[0].help,
        )
    if not plan.windows:
        raise ScriptError(
            "a batch file does not run on this system",
            "See the command and its variables: tritonwin build RECIPE --plan --json",
        )
    title = f"{plan.distribution or plan.recipe} {plan.version} for {plan.target}"
    # "%~" ends a batch file with an error, in a remark too
    title = "".join(c if c.isprintable() and c != "%" else " " for c in title)
    return shells.batch(_batch(title, plan, host))


# `if errorlevel 1` would miss the negative codes of programs that crash
_CHECK = 'if not "%ERRORLEVEL%"=="0" exit /b 1'


def _batch(title: str, plan: BuildPlan, host: Host) -> Iterator[str]:
    toolset = plan.toolset
    # setlocal comes first: its end returns the console to its folder
    yield from ("@echo off", "setlocal DisableDelayedExpansion")
    yield from ('cd /d "%SystemRoot%\\System32"', "chcp 65001 >nul", f"rem --- {title}")
    yield from (f'set "{name}="' for name in _cleared(plan))
    for name, value in _variables(plan, host).items():
        yield f'set "{name}={shells.batch_value(value)}"'
    yield f'set "PATH={shells.batch_value(";".join(_path(plan)))};%PATH%"'
    if toolset and toolset.vcvarsall:
        version = f" -vcvars_ver={toolset.version}" if toolset.version else ""
        # with a short PATH: vcvarsall fails where PATH is long
        yield 'set "TW_PATH=%PATH%"'
        yield 'set "PATH=%SystemRoot%\\System32;%SystemRoot%\\System32\\Wbem"'
        yield f"call {shells.batch_call(toolset.vcvarsall)} x64{version} >nul"
        yield 'set "PATH=%PATH%;%TW_PATH%"'
        # vcvarsall may end with 0 although it failed
        yield 'if not "%VSCMD_ARG_TGT_ARCH%"=="x64" (echo vcvarsall.bat failed & exit /b 1)'
    yield from (f"cd /d {shells.batch_word(str(plan.project))}", _CHECK)
    yield from (" ".join(map(shells.batch_word, argv(plan))), _CHECK)
