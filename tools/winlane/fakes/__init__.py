"""Windows programs and DLLs, built by mingw; many stand in for ones that no Linux machine has."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.wine import Wine, run

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Mingw:
    cache: Cache
    wine: Wine

    def build(self, source: Path, name: str, *options: str) -> Path:
        """`source`, with the headers beside it, as a program or DLL called `name`."""
        content = [path.read_bytes() for path in (source, *sorted(source.parent.glob("*.h")))]
        key = fingerprint(self.wine.name, name, *options, *content)

        def build(folder: Path) -> None:
            compiler = self.wine.mingw("gcc-win32")
            run(compiler, "-O2", "-s", *options, "-o", folder / name, source)

        return self.cache.product(f"built/{key}", build) / name

    def import_library(self, library: Path, dll: str, functions: Iterable[str]) -> None:
        definition = library.with_name(f"{library.name}.def")
        definition.write_text(f'LIBRARY "{dll}"\nEXPORTS\n' + "".join(f"{f}\n" for f in functions))
        # or its hundreds of temporary files lie in the current folder meanwhile
        aside = ("--temp-prefix", library.with_suffix(""))
        run(self.wine.mingw("dlltool"), *aside, "-d", definition, "-l", library)
        definition.unlink()

    def program(self, source: Path, name: str) -> Path:
        return self.build(source, name, "-municode")

    def dll(self, source: Path, name: str) -> Path:
        return self.build(source, name, "-shared")


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
