"""Windows programs of our own, compiled once a content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.wine import Wine, run


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
