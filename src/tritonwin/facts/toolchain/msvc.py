"""Visual Studio's toolsets, Windows SDKs, and the environment that vcvarsall.bat sets.

vcvarsall.bat may end with 0 although it failed, fails with "The input line is too long" where PATH
is long or was extended by it before, and prints what code pages spoil. So it runs with a short
PATH and without the variables of an earlier activation, and a Python at the end of the batch tells
the outcome as JSON.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PureWindowsPath

from tritonwin.errors import UserError
from tritonwin.facts.records import MsvcToolset, WindowsSdk
from tritonwin.facts.toolchain.parts import in_order, parts
from tritonwin.system import process
from tritonwin.system.files import (
    as_text,
    first_file,
    is_file,
    is_folder,
    names_in,
    version_key,
)
from tritonwin.system.host import Environment, Host, merged, with_folders
from tritonwin.system.process import parse_answer, run
from tritonwin.system.scratch import scratch_folder

_TIMEOUT = 20.0  # seconds; the first answer after a start of Windows may take five
_ARGUMENTS = ("-all", "-prerelease", "-products", "*", "-format", "json", "-utf8")
_YEARS = {"18": "2026"}  # since version 18 the folder is no longer named by the year
_CL = "bin/Hostx64/x64/cl.exe"
_NO_TOOLS = "VC\\Tools\\MSVC"


@dataclass(frozen=True)
class Instance:
    """One installation of Visual Studio or its Build Tools."""

    path: Path
    product: str  # "Visual Studio Build Tools 2022"
    source: str
    complete: bool = True  # False while an installation is unfinished or has failed


_Found = tuple[Path, Instance]  # a toolset's folder, or that of an instance without one


def find_msvc(host: Host) -> tuple[MsvcToolset, ...]:
    """List every toolset once, in the order of triton-windows' `find_msvc()`.

    That order is: VCINSTALLDIR with VCToolsVersion (an activated prompt; without the latter
    Triton dies of a TypeError, so nothing is taken from it here); the instances of vswhere, the
    newest first; Program Files. Within an instance the highest version comes first. An
    instance without the C++ tools has an entry with an empty version and
    `missing=("VC\\Tools\\MSVC",)`.

    `chosen` is the first toolset with `Hostx64\\x64\\cl.exe`, `vcruntime.h` and
    `vcruntime.lib`, which is all that Triton asks for; `missing` names more, for what torch and
    builds need. Whether Triton uses MSVC at all is up to `find_compilers`.
    """
    asked = {_NO_TOOLS, *map(_shown, parts().msvc.asked)}
    return in_order(
        _toolsets(host),
        lambda found: found[0],
        _describe,
        lambda found, toolset: found[1].complete and asked.isdisjoint(toolset.missing),
    )


def _describe(found: _Found) -> MsvcToolset:
    folder, instance = found
    vcvarsall = first_file(instance.path, ("VC/Auxiliary/Build/vcvarsall.bat",))
    compiler = first_file(folder, (_CL,))
    no_tools = folder == instance.path
    absent = (_shown(part) for part in parts().msvc.every if not is_file(folder / part))
    return MsvcToolset(
        version="" if no_tools else folder.name,
        path=str(folder),
        compiler=as_text(compiler),
        english=is_folder(compiler.parent / "1033") if compiler else None,
        instance=str(instance.path),
        product=instance.product,
        source=instance.source,
        vcvarsall=as_text(vcvarsall),
        missing=(_NO_TOOLS,) if no_tools else tuple(absent),
    )


def _shown(part: str) -> str:
    return str(PureWindowsPath(part))


def _toolsets(host: Host) -> Iterator[_Found]:
    version = (host.env.get("VCToolsVersion") or "").strip()
    vc = host.env.folder("VCINSTALLDIR")
    if vc and version:
        yield vc / "Tools" / "MSVC" / version, _instance(vc.parent, "variable VCINSTALLDIR")
    for instance in (*_asked(host), *_in_program_files(host)):
        tools = instance.path / "VC" / "Tools" / "MSVC"
        versions = [name for name in names_in(tools) if version_key(name)]
        for name in sorted(versions, key=version_key, reverse=True):
            yield tools / name, instance
        if not versions and is_folder(instance.path):
            yield instance.path, instance


def _asked(host: Host) -> Iterator[Instance]:
    """The instances that vswhere knows, the newest first; none where it fails."""
    places = (f / "Microsoft Visual Studio/Installer/vswhere.exe" for f in _program_files(host))
    program = next((p for p in places if p.is_absolute() and is_file(p)), None)
    listed: object = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        done = process.run(program, _ARGUMENTS, timeout=_TIMEOUT) if program else None
        listed = json.loads(done.out.decode("utf-8-sig")) if done and done.code == 0 else None
    entries = [e for e in listed if isinstance(e, dict)] if isinstance(listed, list) else []
    entries.sort(key=lambda e: version_key(str(e.get("installationVersion"))), reverse=True)
    for entry in entries:
        if isinstance(entry.get("installationPath"), str):
            instance = _instance(Path(entry["installationPath"]), "vswhere")
            yield replace(
                instance,
                product=str(entry.get("displayName") or instance.product),
                complete=entry.get("isComplete") is not False,
            )


def _in_program_files(host: Host) -> Iterator[Instance]:
    for root in _program_files(host):
        studio = root / "Microsoft Visual Studio"
        for year in sorted(names_in(studio), key=version_key, reverse=True):
            for edition in names_in(studio / year):
                path = studio / year / edition
                if "VC" in names_in(path):
                    yield _instance(path, "Program Files")


def _program_files(host: Host) -> tuple[Path, ...]:
    """Program Files; `ProgramFiles(x86)` is missing from some environments (MSYS, services)."""
    if not host.windows:
        return ()
    drive = host.env.get("SystemDrive") or "C:"
    return tuple(dict.fromkeys((*host.program_files(), Path(f"{drive}\\Program Files (x86)"))))


def _instance(path: Path, source: str) -> Instance:
    return Instance(path=path, product=_product(path), source=source)


def _product(path: Path) -> str:
    """A name by the folder: "Visual Studio 2022 BuildTools"."""
    year = path.parent.name
    return f"Visual Studio {_YEARS.get(year, year)} {path.name}"


_KIT = "HKLM\\SOFTWARE\\Microsoft\\Microsoft SDKs\\Windows\\v10.0"


def find_windows_sdks(host: Host) -> tuple[WindowsSdk, ...]:
    """List every SDK version once, in the order of triton-windows' `find_winsdk()`.

    That order is: WindowsSdkDir with WindowsSDKVersion (or WindowsSDKVer); the registry, in its
    32-bit view; Program Files\\Windows Kits\\10; the highest version first. `chosen` is the first
    with `stdlib.h` and `ucrt.lib`, which is all that Triton asks for; `missing` also names
    `Windows.h` and `kernel32.lib`, which every build needs.
    """

    shipped = parts().sdk
    asked, every = ([_shown(part) for part in p] for p in (shipped.asked, shipped.every))

    def describe(sdk: WindowsSdk) -> WindowsSdk:
        files = (part.format(sdk.version) for part in every)
        missing = (f for f in files if not is_file(Path(sdk.path, *f.split("\\"))))
        return replace(sdk, missing=tuple(missing))

    return in_order(
        _sdks(host),
        lambda sdk: Path(sdk.path, "Include", sdk.version),
        describe,
        lambda _, sdk: not {part.format(sdk.version) for part in asked} & {*sdk.missing},
    )


def _sdks(host: Host) -> Iterator[WindowsSdk]:
    root = host.env.folder("WindowsSdkDir")
    named = host.env.get("WindowsSDKVersion") or host.env.get("WindowsSDKVer") or ""
    # "10.0.22621.0\"; a prompt without an SDK leaves a lone backslash
    version = named.strip().rstrip("\\/")
    if root and version:
        yield WindowsSdk(version=version, path=str(root), source="variable WindowsSdkDir")
    noted = host.registry.value(_KIT, "InstallationFolder", view=32)
    folders = [(str(f / "Windows Kits" / "10"), "Program Files") for f in host.program_files()]
    for folder, source in ((noted, f"registry {_KIT}"), *folders):
        if isinstance(folder, str) and folder:
            names = (n for n in names_in(Path(folder, "Include")) if n.startswith("10."))
            for name in sorted(names, key=version_key, reverse=True):
                yield WindowsSdk(version=name, path=str(Path(folder)), source=source)


_SECONDS = 120
_QUIET = "VSCMD_SKIP_SENDTELEMETRY"
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
    kept = merged(data, dict.fromkeys(parts().msvc.activation))
    path = Environment(kept, windows=True).get("PATH") or ""
    short = ";".join(str(system32 / end) for end in ("", "Wbem", "WindowsPowerShell/v1.0"))
    found = _captured(
        vcvarsall,
        merged(kept, {"PATH": short}),
        system32 / "cmd.exe",
        "x64" if toolset is None else f"x64 -vcvars_ver={toolset}",
    )
    # PATH as vcvarsall left it, the one from before it in the place of the short one
    added = (Environment(found, windows=True).get("PATH") or "").removesuffix(short).rstrip(";")
    return with_folders(merged(found, {"PATH": path or short}), [added] if added else [])


def _captured(vcvarsall: Path, data: dict[str, str], cmd: Path, arguments: str) -> dict[str, str]:
    cookie = secrets.token_hex(16)
    own = {
        "TRITONWIN_VCVARSALL": str(vcvarsall),
        "TRITONWIN_VCVARS_ARGUMENTS": arguments,
        "TRITONWIN_PYTHON": sys.executable,
        _QUIET: "1",
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
    # ours went through the batch file; Windows may spell them in capitals
    return {n: str(v) for n, v in answer.items() if n == _QUIET or n.upper() not in own}
