"""Visual Studio and the Windows SDK as their installers leave them; the programs are stand-ins.

Folders, registry entries, vswhere.exe and vcvarsall.bat are where and as the real ones are. cl.exe
and its like print what a call without arguments prints and compile nothing; libraries are empty.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from winlane.resources import HERE

if TYPE_CHECKING:
    from winlane.machine import Machine

PROGRAMS_X86 = r"C:\Program Files (x86)"
KITS = rf"{PROGRAMS_X86}\Windows Kits\10"
INSTALLER = rf"{PROGRAMS_X86}\Microsoft Visual Studio\Installer"
VC_TOOLS = "Microsoft.VisualStudio.Component.VC.Tools.x86.x64"
COMPONENTS = (VC_TOOLS, "Microsoft.VisualStudio.Component.Windows11SDK.22621")
MAJORS = {"2017": 15, "2019": 16, "2022": 17, "2026": 18}

_ENGLISH = "Microsoft (R) C/C++ Optimizing Compiler Version {version} for {target}\r\n"
_GERMAN = "Microsoft (R) C/C++-Optimierungscompiler Version {version} f\xfcr {target}\r\n"
_LIBRARIES = ("vcruntime", "msvcrt", "msvcprt", "libcmt", "libcpmt", "oldnames")
_VCVARSALL = HERE / "windows" / "vcvarsall.bat"


@dataclass(frozen=True)
class VisualStudio:
    year: str
    edition: str
    toolset: str
    components: tuple[str, ...]
    english: bool

    @property
    def path(self) -> str:
        # from 2022 on all editions but the Build Tools are 64-bit programs
        old = int(self.year) < 2022 or self.edition == "BuildTools"
        programs = PROGRAMS_X86 if old else r"C:\Program Files"
        folder = self.year if int(self.year) <= 2022 else str(MAJORS[self.year])
        return rf"{programs}\Microsoft Visual Studio\{folder}\{self.edition}"

    @property
    def tools(self) -> str:
        return rf"{self.path}\VC\Tools\MSVC\{self.toolset}"

    @property
    def version(self) -> str:
        """The installation's version, made up but for the major."""
        return f"{MAJORS[self.year]}.{self.toolset.split('.')[1]}.35201.131"

    @property
    def compiler_version(self) -> str:
        """cl.exe counts 19 where the toolset counts 14."""
        return f"19.{self.toolset.partition('.')[2]}"

    def properties(self) -> dict[str, str]:
        return {
            "instanceId": f"lane{self.year}",
            "installationName": f"VisualStudio/{self.version}",
            "installationPath": self.path,
            "installationVersion": self.version,
            "productId": f"Microsoft.VisualStudio.Product.{self.edition}",
            "displayName": f"Visual Studio {self.edition} {self.year}",
        }


@dataclass
class Microsoft:
    """Microsoft's products on one machine; vswhere and vcvarsall know all of them."""

    host: Machine
    _studios: list[VisualStudio] = field(default_factory=list)
    _sdks: list[str] = field(default_factory=list)

    def visual_studio(
        self,
        year: str = "2022",
        edition: str = "BuildTools",
        toolset: str = "14.44.35207",
        components: Sequence[str] = COMPONENTS,
        *,
        english: bool = True,
    ) -> VisualStudio:
        """One more installation. Without the VC.Tools component it has no compiler."""
        studio = VisualStudio(year, edition, toolset, tuple(components), english)
        if any(component.startswith(VC_TOOLS) for component in components):
            self._toolset(studio)
        else:
            self.host.place(rf"{studio.path}\Common7\IDE", None)
        self._studios.append(studio)
        self._studios.sort(key=lambda each: each.version, reverse=True)
        self._describe()
        return studio

    def windows_sdk(self, version: str = "10.0.22621.0", without: Sequence[str] = ()) -> str:
        """One more SDK version, headers, libraries and registry; the kits' folder.

        Args:
            without: parts to leave out: "ucrt", "um", "shared".
        """
        place = self.host.place
        headers = {"ucrt": ("stdio.h", "stdlib.h", "corecrt.h", "crtdbg.h"), "um": ("Windows.h",),
                   "shared": ("winerror.h",)}  # fmt: skip
        libraries = {"ucrt": ("ucrt.lib",), "um": ("kernel32.Lib", "User32.Lib"), "shared": ()}
        for part in (part for part in headers if part not in without):
            for name in headers[part]:
                place(rf"{KITS}\Include\{version}\{part}\{name}", "/* stand-in */\n")
            for name in libraries[part]:
                place(rf"{KITS}\Lib\{version}\{part}\x64\{name}", b"!<arch>\n")
        for name in ("rc.exe", "mt.exe"):
            place(rf"{KITS}\bin\{version}\x64\{name}", self.host.fakes.tool())
        # the 32-bit installer writes below WOW6432Node; Installed Roots is seen from both sides
        software = r"HKLM\SOFTWARE\WOW6432Node\Microsoft"
        sdk = rf"{software}\Microsoft SDKs\Windows\v10.0"
        registry = self.host.registry
        registry.set(sdk, "InstallationFolder", KITS + "\\")
        registry.set(sdk, "ProductVersion", version.rpartition(".")[0])
        for base in (software, r"HKLM\SOFTWARE\Microsoft"):
            registry.set(rf"{base}\Windows Kits\Installed Roots", "KitsRoot10", KITS + "\\")
            registry.set(rf"{base}\Windows Kits\Installed Roots\{version}", "", "")
        self._sdks = sorted({*self._sdks, version}, key=_numbers)
        self._describe()
        return KITS

    def _toolset(self, studio: VisualStudio) -> None:
        place, tools = self.host.place, studio.tools
        for target in ("x64", "x86"):
            folder = rf"{tools}\bin\Hostx64\{target}"
            for name in ("cl.exe", "link.exe", "lib.exe", "nmake.exe", "ml64.exe"):
                place(rf"{folder}\{name}", self.host.fakes.tool())
            banner = (_ENGLISH if studio.english else _GERMAN).format(
                version=studio.compiler_version, target=target
            )
            place(rf"{folder}\cl.exe.err", banner.encode("cp1252"))
            usage = "usage: cl [ option... ] filename... [ /link linkoption... ]\r\n"
            place(rf"{folder}\cl.exe.out", usage)
            # the language folder holds the texts of the compiler: 1033 English, 1031 German
            language = "1033" if studio.english else "1031"
            place(rf"{folder}\{language}\clui.dll", b"stand-in")
            for name in _LIBRARIES:
                place(rf"{tools}\lib\{target}\{name}.lib", b"!<arch>\n")
        for name in ("vcruntime.h", "omp.h", "cstddef", "algorithm", "yvals_core.h"):
            place(rf"{tools}\include\{name}", "/* stand-in */\n")
        build = rf"{studio.path}\VC\Auxiliary\Build"
        place(rf"{build}\Microsoft.VCToolsVersion.default.txt", f"{studio.toolset}\r\n")
        for name, target in (("vcvars64.bat", "x64"), ("vcvars32.bat", "x86")):
            place(rf"{build}\{name}", f'@call "%~dp0vcvarsall.bat" {target} %*\r\n')

    def _describe(self) -> None:
        """Write again the files that depend on everything installed so far."""
        place = self.host.place
        installed = {studio.path: studio for studio in reversed(self._studios)}
        for number, studio in enumerate(reversed(installed.values()), 1):
            folder = rf"{INSTALLER}\vswhere.exe.d\{number}"
            properties = studio.properties()
            for name, value in properties.items():
                place(rf"{folder}\{name}", value)
            whole = {**properties, "isComplete": True, "isLaunchable": True, "isPrerelease": False}
            place(rf"{folder}\json", json.dumps(whole, indent=2).replace("\n", "\r\n"))
            place(rf"{folder}\components", "\n".join(studio.components))
            if any(component.startswith(VC_TOOLS) for component in studio.components):
                place(rf"{studio.path}\VC\Auxiliary\Build\vcvarsall.bat", self._vcvarsall(studio))
        if self._studios:
            place(rf"{INSTALLER}\vswhere.exe", self.host.fakes.vswhere())

    def _vcvarsall(self, studio: VisualStudio) -> str:
        """As the real one: `-vcvars_ver` names a toolset, and the end is 0 where it fails."""
        there = [each.toolset for each in self._studios if each.path == studio.path]
        toolsets = ((word, v) for v in there for word in dict.fromkeys((v, v.rpartition(".")[0])))
        fields = {
            "newest": max(there, key=_numbers),
            "toolsets": "\n".join(f'if "%WANTED%"=="{w}" set TOOLSET={v}' for w, v in toolsets),
            "sdk": self._sdks[-1] if self._sdks else "",
            "kits": KITS,
            "path": studio.path,
            "major": str(MAJORS[studio.year]),
            "year": studio.year,
            "version": studio.version,
        }
        text = _VCVARSALL.read_text("ascii")
        for name, value in fields.items():
            text = text.replace(f"@{name}@", value)
        return text.replace("\n", "\r\n")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
