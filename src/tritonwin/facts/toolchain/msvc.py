"""Visual Studio: its instances, their toolsets, and the environment that vcvarsall.bat sets.

vcvarsall.bat may end with 0 although it failed, fails with "The input line is too long" where PATH
is long or was extended by it before, and prints what code pages spoil. So it runs with a short
PATH and without the variables of an earlier activation, and a Python at the end of the batch tells
the outcome as JSON.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from tritonwin.errors import UserError
from tritonwin.facts.records import MsvcToolset
from tritonwin.facts.toolchain.precedence import in_order
from tritonwin.system import process
from tritonwin.system.files import is_file, is_folder, names_in, version_key
from tritonwin.system.host import Environment, Host, merged, with_folders
from tritonwin.system.process import parse_answer, run
from tritonwin.system.scratch import scratch_folder

_TIMEOUT = 20.0  # seconds; the first answer after a start of Windows may take five
_ARGUMENTS = ("-all", "-prerelease", "-products", "*", "-format", "json", "-utf8")
_YEARS = {"18": "2026"}  # since version 18 the folder is no longer named by the year


@dataclass(frozen=True)
class Instance:
    """One installation of Visual Studio or its Build Tools."""

    path: Path
    product: str  # "Visual Studio Build Tools 2022"
    source: str
    asked: bool = False  # told by vswhere, not by its folder
    version: str = ""  # "17.14.36408.4"
    complete: bool = True  # False while an installation is unfinished or has failed


def find_instances(host: Host) -> tuple[Instance, ...]:
    """All instances, the newest first: by vswhere, then what else lies in Program Files."""
    asked, trouble = _asked(host)
    newest_first = sorted(asked, key=lambda i: version_key(i.version), reverse=True)
    return (*newest_first, *_in_program_files(host, trouble))


def parse(output: bytes) -> tuple[Instance, ...]:
    """Read the JSON of `vswhere -format json -utf8`.

    Raises:
        ValueError: it is not the JSON list that vswhere prints.
    """
    try:
        listed = json.loads(output.decode("utf-8-sig", "replace") or "[]")
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(listed, list):
        raise ValueError("not a list")  # noqa: TRY004 - one kind of error for output that is not vswhere's
    return tuple(i for i in map(_instance, listed) if i)


def _instance(entry: object) -> Instance | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("installationPath"), str):
        return None
    path = Path(entry["installationPath"])
    return Instance(
        path=path,
        product=str(entry.get("displayName") or product_name(path)),
        source="vswhere",
        asked=True,
        version=str(entry.get("installationVersion") or ""),
        complete=entry.get("isComplete") is not False,
    )


def _asked(host: Host) -> tuple[tuple[Instance, ...], str]:
    """The instances that vswhere knows, and what went wrong with it, if anything did."""
    if not host.windows:
        return (), ""
    places = (f / "Microsoft Visual Studio/Installer/vswhere.exe" for f in _program_files(host))
    program = next((p for p in places if p.is_absolute() and is_file(p)), None)
    if program is None:
        return (), ""
    try:
        done = process.run(program, _ARGUMENTS, timeout=_TIMEOUT)
        return (parse(done.out), "") if done.code == 0 else ((), done.ending())
    except OSError as error:
        return (), error.strerror or "could not be started"
    except ValueError:
        return (), "unreadable output"


def _in_program_files(host: Host, trouble: str) -> Iterable[Instance]:
    source = f"Program Files (vswhere: {trouble})" if trouble else "Program Files"
    for root in _program_files(host):
        studio = root / "Microsoft Visual Studio"
        for year in sorted(names_in(studio), key=version_key, reverse=True):
            for edition in names_in(studio / year):
                path = studio / year / edition
                if "VC" in names_in(path):
                    yield Instance(path=path, product=product_name(path), source=source)


def _program_files(host: Host) -> tuple[Path, ...]:
    """Program Files; `ProgramFiles(x86)` is missing from some environments (MSYS, services)."""
    drive = host.env.get("SystemDrive") or "C:"
    return tuple(dict.fromkeys((*host.program_files(), Path(f"{drive}\\Program Files (x86)"))))


def product_name(path: Path) -> str:
    """A name by the folder: "Visual Studio 2022 BuildTools"."""
    year = path.parent.name
    return f"Visual Studio {_YEARS.get(year, year)} {path.name}"


_CL = "bin/Hostx64/x64/cl.exe"
_TRITON_ASKS = (_CL, "include/vcruntime.h", "lib/x64/vcruntime.lib")
TOOLSET_PARTS = (*_TRITON_ASKS, "include/omp.h", "lib/x64/msvcrt.lib", "lib/x64/libcmt.lib")
_NO_TOOLS = "VC\\Tools\\MSVC"


@dataclass(frozen=True)
class _Found:
    folder: Path
    instance: Instance
    sought: bool = True  # False: Triton does not take it from here


def find_msvc(host: Host) -> tuple[MsvcToolset, ...]:
    """List every toolset once, in the order of triton-windows' `find_msvc()`.

    That order is: VCINSTALLDIR with VCToolsVersion (an activated prompt; without the latter
    Triton dies of a TypeError, so nothing is taken from it here); the instances of vswhere, the
    newest first; PATH; Program Files. Within an instance the highest version comes first.
    VCToolsInstallDir, which Triton does not read, is listed too. An instance without the C++
    tools has an entry with an empty version and `missing=("VC\\Tools\\MSVC",)`.

    `chosen` is the first toolset with `Hostx64\\x64\\cl.exe`, `vcruntime.h` and
    `vcruntime.lib`, which is all that Triton asks for; `missing` names more, for what torch and
    builds need. Whether Triton uses MSVC at all is up to `find_compilers`.
    """
    asked = {_NO_TOOLS, *(str(PureWindowsPath(part)) for part in _TRITON_ASKS)}
    return in_order(
        _candidates(host),
        lambda found: found.folder,
        _describe,
        lambda found, toolset: found.sought and asked.isdisjoint(toolset.missing),
    )


def _describe(found: _Found) -> MsvcToolset:
    folder, instance = found.folder, found.instance
    vcvarsall = instance.path / "VC" / "Auxiliary" / "Build" / "vcvarsall.bat"
    compiler = folder / _CL
    has_compiler = is_file(compiler)
    no_tools = folder == instance.path
    absent = (str(PureWindowsPath(p)) for p in TOOLSET_PARTS if not is_file(folder / p))
    return MsvcToolset(
        version="" if no_tools else folder.name,
        path=str(folder),
        compiler=str(compiler) if has_compiler else None,
        english=is_folder(compiler.parent / "1033") if has_compiler else None,
        instance=str(instance.path),
        product=instance.product,
        source=instance.source,
        vcvarsall=str(vcvarsall) if is_file(vcvarsall) else None,
        missing=(_NO_TOOLS,) if no_tools else tuple(absent),
    )


def _candidates(host: Host) -> Iterator[_Found]:
    yield from _variables(host)
    instances = find_instances(host)
    yield from _toolsets(i for i in instances if i.asked)
    yield from _toolsets(_on_path(host))
    yield from _toolsets(i for i in instances if not i.asked)


def _variables(host: Host) -> Iterator[_Found]:
    version = (host.env.get("VCToolsVersion") or "").strip()
    vc = host.env.folder("VCINSTALLDIR")
    if vc and version:
        instance = _instance_of(vc, "variable VCINSTALLDIR")
        yield _Found(vc / "Tools" / "MSVC" / version, instance)
    tools = host.env.folder("VCToolsInstallDir")
    if tools:
        yield _Found(
            tools,
            _instance_of(_vc_above(tools), "variable VCToolsInstallDir"),
            sought=False,
        )


def _on_path(host: Host) -> Iterator[Instance]:
    for entry in host.env.path_entries():
        if any(
            p.name.upper() == "MSVC" and p.parent.name.upper() == "TOOLS" for p in entry.parents
        ):
            msvc = next(p for p in entry.parents if p.name.upper() == "MSVC")
            yield _instance_of(msvc.parent.parent, "PATH")


def _toolsets(instances: Iterator[Instance]) -> Iterator[_Found]:
    for instance in instances:
        tools = instance.path / "VC" / "Tools" / "MSVC"
        versions = sorted(
            (name for name in names_in(tools) if version_key(name)), key=version_key, reverse=True
        )
        for version in versions:
            yield _Found(tools / version, instance, sought=instance.complete)
        if not versions and is_folder(instance.path):
            yield _Found(instance.path, instance)


def _vc_above(toolset: Path) -> Path:
    """`...\\VC` of `...\\VC\\Tools\\MSVC\\14.44.35207`."""
    return toolset.parent.parent.parent


def _instance_of(vc: Path, source: str) -> Instance:
    path = vc.parent
    return Instance(path=path, product=product_name(path), source=source)


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
    kept = merged(data, dict.fromkeys(ACTIVATION))
    path = Environment(kept, windows=True).get("PATH") or ""
    short = ";".join(str(system32 / end) for end in ("", "Wbem", "WindowsPowerShell/v1.0"))
    answer = _captured(
        vcvarsall,
        merged(kept, {"PATH": short}),
        system32 / "cmd.exe",
        "x64" if toolset is None else f"x64 -vcvars_ver={toolset}",
    )
    found = {n: v for n, v in answer.items() if not n.upper().startswith("TRITONWIN_VCVARS")}
    return _with_path(found, short, path)


def _captured(vcvarsall: Path, data: dict[str, str], cmd: Path, arguments: str) -> dict[str, str]:
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
    """PATH as vcvarsall left it, the PATH from before it in the place of the short one."""
    added = (Environment(found, windows=True).get("PATH") or "").removesuffix(short).rstrip(";")
    return with_folders(merged(found, {"PATH": path or short}), [added] if added else [])
