"""Programs and DLLs that stand in for ones no Linux machine has, built by mingw."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from winlane.cache import fingerprint
from winlane.mingw import Mingw
from winlane.wine import run

_HERE = Path(__file__).resolve().parent


class Fakes(Mingw):
    def nvcuda(self) -> Path:
        return self.dll(_HERE / "nvcuda.c", "nvcuda.dll")

    def amdhip64(self) -> Path:
        return self.dll(_HERE / "amdhip64.c", "amdhip64_6.dll")

    def nvml(self) -> Path:
        return self.dll(_HERE / "nvml.c", "nvml.dll")

    def tool(self) -> Path:
        """Any console program; see tool.c for the files beside it that steer it."""
        return self.program(_HERE / "tool.c", "tool.exe")

    def vswhere(self) -> Path:
        """Answers from the folder vswhere.exe.d beside it; see vswhere.c."""
        return self.program(_HERE / "vswhere.c", "vswhere.exe")

    def build_dll(
        self,
        name: str,
        exports: Sequence[str] = (),
        imports: Mapping[str, Sequence[str]] | None = None,
    ) -> Path:
        """A valid DLL or .pyd: functions that return 0, and an import of every function named.

        `imports` maps a DLL's name to the functions wanted of it; whether such a DLL exists
        anywhere is the test's business.
        """
        wanted = {dll: tuple(functions) for dll, functions in (imports or {}).items()}
        key = fingerprint(name, repr(tuple(exports)), repr(sorted(wanted.items())))

        def build(folder: Path) -> None:
            sources = folder / "sources"
            sources.mkdir()
            inputs = [_source(sources, exports, wanted)]
            for dll, functions in wanted.items():
                inputs.append(sources / f"lib{dll}.a")
                self.import_library(inputs[-1], dll, functions)
            run(self.wine.mingw("gcc-win32"), "-O2", "-s", "-shared", "-o", folder / name, *inputs)
            shutil.rmtree(sources)

        return self.cache.product(f"fakes/{key}", build) / name


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
