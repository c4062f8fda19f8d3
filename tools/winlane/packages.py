"""Windows wheels, resolved on Linux for Windows by uv and kept unpacked, one folder a set."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from winlane.cache import Cache, fingerprint
from winlane.headers import find_uv, linux_python
from winlane.resources import WHEELS
from winlane.wine import run

_RECIPE = "2"


@dataclass(frozen=True)
class Packages:
    cache: Cache

    def unpacked(self, version: str, requirements: Sequence[str]) -> Path:
        """A folder laid out as site-packages; `requirements` are pip's strings or WHEELS' names."""
        wanted = sorted({WHEELS.get(each, each) for each in requirements})
        pins = sorted(pin for pin in WHEELS.values() if "triton" not in pin and "msvc" not in pin)
        key = fingerprint(_RECIPE, version, *wanted, "--", *pins)

        def build(folder: Path) -> None:
            constraints = folder / "constraints.txt"
            names = {each.partition("==")[0] for each in wanted}
            constraints.write_text(
                "".join(f"{pin}\n" for pin in pins if pin.partition("==")[0] not in names)
            )
            # pip's own --platform would evaluate the markers of dependencies as Linux
            run(find_uv(), "pip", "install", "-q", "--no-config", "--target", folder,
                "--python-platform", "x86_64-pc-windows-msvc", "--python-version", version,
                "--only-binary", ":all:", "--link-mode", "copy",
                "--constraint", constraints, *wanted)  # fmt: skip
            constraints.unlink()
            for leftover in (".lock", "CACHEDIR.TAG"):
                (folder / leftover).unlink(missing_ok=True)
            # uv writes scripts for the system it runs on: programs that no Windows can start
            shutil.rmtree(folder / "bin", ignore_errors=True)
            # pip compiles on installing; bytecode is the same on every system
            python = linux_python(version)
            if python:
                run(python, "-m", "compileall", "-q", "-j", "0", folder, check=False)

        names = ", ".join(wanted)
        return self.cache.product(f"packages/{version}-{key}", build, f"fetching {names}")

    def wheels(self, version: str, requirements: Sequence[str]) -> Path:
        """A folder of wheel files as the index has them, without what they depend on."""
        wanted = sorted({WHEELS.get(each, each) for each in requirements})
        compact = version.replace(".", "")

        def build(folder: Path) -> None:
            for each in wanted:
                run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                    "--only-binary", ":all:", "--platform", "win_amd64",
                    "--python-version", version, "--implementation", "cp",
                    "--abi", f"cp{compact}", "--abi", "abi3", "--abi", "none", each)  # fmt: skip

        name = f"wheels/{version}-{fingerprint(_RECIPE, version, *wanted)}"
        return self.cache.product(name, build, f"fetching wheels of {', '.join(wanted)}")
