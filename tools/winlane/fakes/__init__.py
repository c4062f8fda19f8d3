"""Programs and DLLs that stand in for ones no Linux machine has, built by mingw."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.mingw import Mingw
from winlane.wine import Wine, run

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class VersionResource:
    """The version resource of a file: the Details tab of its properties."""

    version: str
    product: str = "Lane stand-in"
    company: str = "tritonwin"


@dataclass(frozen=True)
class Fakes:
    cache: Cache
    wine: Wine

    def nvcuda(self) -> Path:
        return Mingw(self.cache, self.wine).dll(_HERE / "nvcuda.c", "nvcuda.dll")

    def amdhip64(self) -> Path:
        return Mingw(self.cache, self.wine).dll(_HERE / "amdhip64.c", "amdhip64_6.dll")

    def nvml(self) -> Path:
        return Mingw(self.cache, self.wine).dll(_HERE / "nvml.c", "nvml.dll")

    def tool(self) -> Path:
        """Any console program; see tool.c for the files beside it that steer it."""
        return Mingw(self.cache, self.wine).program(_HERE / "tool.c", "tool.exe")

    def vswhere(self) -> Path:
        """Answers from the folder vswhere.exe.d beside it; see vswhere.c."""
        return Mingw(self.cache, self.wine).program(_HERE / "vswhere.c", "vswhere.exe")

    def build_dll(
        self,
        name: str,
        exports: Sequence[str] = (),
        imports: Mapping[str, Sequence[str]] | None = None,
        version: VersionResource | None = None,
    ) -> Path:
        """A valid DLL or .pyd: functions that return 0, and an import of every function named.

        `imports` maps a DLL's name to the functions wanted of it; whether such a DLL exists
        anywhere is the test's business.
        """
        wanted = {dll: tuple(functions) for dll, functions in (imports or {}).items()}
        key = fingerprint(name, repr(tuple(exports)), repr(sorted(wanted.items())), repr(version))

        def build(folder: Path) -> None:
            sources = folder / "sources"
            sources.mkdir()
            inputs = [_source(sources, exports, wanted)]
            inputs += [self._import_library(sources, dll, each) for dll, each in wanted.items()]
            if version:
                inputs.append(self._resource(sources, name, version))
            run(self.wine.mingw("gcc-win32"), "-O2", "-s", "-shared", "-o", folder / name, *inputs)
            shutil.rmtree(sources)

        return self.cache.product(f"fakes/{key}", build) / name

    def _import_library(self, folder: Path, dll: str, functions: Sequence[str]) -> Path:
        definition = folder / f"{dll}.def"
        definition.write_text(f'LIBRARY "{dll}"\nEXPORTS\n' + "".join(f"{f}\n" for f in functions))
        library = folder / f"lib{dll}.a"
        run(self.wine.mingw("dlltool"), "-d", definition, "-l", library)
        return library

    def _resource(self, folder: Path, name: str, version: VersionResource) -> Path:
        numbers = ",".join(([*version.version.split("."), "0", "0", "0"])[:4])
        script = folder / "version.rc"
        script.write_text(
            f"1 VERSIONINFO\nFILEVERSION {numbers}\nPRODUCTVERSION {numbers}\nBEGIN\n"
            'BLOCK "StringFileInfo"\nBEGIN\nBLOCK "040904B0"\nBEGIN\n'
            f'VALUE "CompanyName", "{version.company}"\n'
            f'VALUE "FileVersion", "{version.version}"\n'
            f'VALUE "OriginalFilename", "{name}"\n'
            f'VALUE "ProductName", "{version.product}"\n'
            f'VALUE "ProductVersion", "{version.version}"\n'
            'END\nEND\nBLOCK "VarFileInfo"\nBEGIN\nVALUE "Translation", 0x409, 1200\nEND\nEND\n'
        )
        compiled = folder / "version.o"
        windres, preprocessor = self.wine.mingw("windres"), self.wine.mingw("cpp-win32")
        run(windres, "--preprocessor", preprocessor, "-DRC_INVOKED", script, compiled)
        return compiled


def _source(folder: Path, exports: Sequence[str], imports: Mapping[str, Sequence[str]]) -> Path:
    wanted = [name for names in imports.values() for name in names]
    lines = [f"__declspec(dllimport) void {name}(void);" for name in wanted]
    if wanted:
        addresses = ", ".join(f"(void *){name}" for name in wanted)
        lines.append(f"__declspec(dllexport) void *lane_imports[] = {{{addresses}}};")
    lines += [f"__declspec(dllexport) long long {name}(void) {{ return 0; }}" for name in exports]
    source = folder / "stand_in.c"
    source.write_text("\n".join([*lines, "int lane_stand_in;\n"]))
    return source
