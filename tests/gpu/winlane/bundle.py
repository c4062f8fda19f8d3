"""Pack a Windows that can be carried to a machine with a GPU and no network.

    python tests/gpu/winlane/bundle.py 3.8 [3.6 ...] [--out FOLDER]

writes wine.tar.xz (a trimmed Wine with the relay to CUDA's driver) and triton-NAME.tar.xz (CPython
for Windows with the Triton of bundles.toml). Everything comes out of the Windows lane's cache. The
archives hold Wine (LGPL), CPython, Triton and NVIDIA's ptxas: carry them, do not commit them.
"""

from __future__ import annotations

import argparse
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT / "tools"))

import relay  # noqa: E402
from winlane import wine  # noqa: E402
from winlane.cache import Cache, copy_tree, say  # noqa: E402
from winlane.fakes import Mingw  # noqa: E402
from winlane.packages import Packages  # noqa: E402
from winlane.pythons import Pythons, distribution  # noqa: E402
from winlane.resources import HERE as LANE  # noqa: E402
from winlane.standins import torch_files  # noqa: E402
from winlane.upstream import Upstream, lay_over  # noqa: E402

from tritonwin.system import toml  # noqa: E402

DESTINATION = CHECKOUT / ".gpu"
# Wine's Linux side: what the programs of a bundle load
_UNIX_LIBRARIES = (
    "ntdll",
    "win32u",
    "ws2_32",
    "bcrypt",
    "dnsapi",
    "nsiproxy",
    "mountmgr",
    "winebus",
)
_LIBC = ("libc", "libm", "libdl", "libpthread", "librt", "libresolv", "libutil", "ld-linux-x86-64")
# a dictionary as large as a tree: beside libtriton.pyd lies ptxas.exe
_DICTIONARY = 192 * 2**20


def load() -> dict[str, Any]:
    """bundles.toml: `common`, and `bundle` by name."""
    return toml.loads((HERE / "bundles.toml").read_text("utf-8"))


def main(argv: Sequence[str] | None = None) -> int:
    table = load()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="+", choices=table["bundle"])
    parser.add_argument("--out", type=Path, default=DESTINATION)
    parser.add_argument("--quick", action="store_true", help="larger archives, for rehearsals")
    chosen = parser.parse_args(argv)
    cache = Cache.open()
    chosen.out.mkdir(parents=True, exist_ok=True)
    preset = 0 if chosen.quick else 9
    with tempfile.TemporaryDirectory(prefix="winlane-bundle-", dir=cache.root / "building") as name:
        scratch = Path(name)
        wine_tree(cache, table, scratch / "wine")
        _pack(scratch / "wine", chosen.out / "wine.tar.xz", preset)
        for bundle in chosen.names:
            windows_tree(cache, table, bundle, scratch / bundle)
            _pack(scratch / bundle, chosen.out / f"triton-{bundle}.tar.xz", preset)
    return 0


def wine_tree(cache: Cache, table: Mapping[str, Any], folder: Path) -> None:
    """The layout of `winlane.wine.Wine`, with the relay and the program that starts programs."""
    full = wine.provide(cache)
    trimmed = wine.Wine(folder / "usr", folder)
    for kind in ("x86_64-windows", "x86_64-unix"):
        (trimmed.dlls / kind).mkdir(parents=True)
    programs = full.tree / "lib" / "wine"
    for name in ("wine64", "wineserver", "wineserver64"):
        (trimmed.tree / "lib" / "wine").mkdir(exist_ok=True)
        shutil.copy(programs / name, trimmed.tree / "lib" / "wine")
    shared = Path("share", "wine")
    shutil.copytree(full.tree / shared / "nls", trimmed.tree / shared / "nls")
    shutil.copy(full.tree / shared / "wine.inf", trimmed.tree / shared)
    for name in (HERE / "wine_files.txt").read_text("utf-8").split():
        source = full.dlls / "x86_64-windows" / name
        if source.exists():
            shutil.copy(source, trimmed.dlls / "x86_64-windows")
    for name in _UNIX_LIBRARIES:
        shutil.copy(full.dlls / "x86_64-unix" / f"{name}.so", trimmed.dlls / "x86_64-unix")
    _shared_libraries(full, trimmed)
    _add_relay(cache, full, table, trimmed)
    shutil.copy(Mingw(cache, full).program(LANE / "native" / "launch.c", "launch.exe"), folder)


def _shared_libraries(full: wine.Wine, trimmed: wine.Wine) -> None:
    """The libraries of Wine's Linux side, less the C library: that is the machine's own."""
    users = [*(trimmed.dlls / "x86_64-unix").glob("*.so"), trimmed.loader, trimmed.server]
    environment = full.unix_environment(full.home)
    for user in users:
        for line in wine.run("ldd", user, env=environment, check=False).stdout.splitlines():
            words = line.split()
            if "=>" in words and words[2].startswith("/"):
                name = words[0]
                if not name.startswith(tuple(f"{each}." for each in _LIBC)):
                    shutil.copy(words[2], trimmed.dlls.parent / name)


def _add_relay(cache: Cache, full: wine.Wine, table: Mapping[str, Any], trimmed: wine.Wine) -> None:
    headers = [
        _packages(cache, table, name) / "triton" / "backends" / "nvidia" / "include" / "cuda.h"
        for name in table["bundle"]
    ]
    for name in ("driver", "stand-in"):
        folder = trimmed.tree.parent / name
        folder.mkdir()
        with tempfile.TemporaryDirectory() as scratch:
            made = relay.build(full, headers, Path(scratch), stand_in=name == "stand-in")
            for file in (made.library, made.stub):
                shutil.copy(file, folder)


def _packages(cache: Cache, table: Mapping[str, Any], name: str) -> Path:
    wanted = [*table["common"]["packages"], *table["bundle"][name]["packages"]]
    return Packages(cache).unpacked(table["common"]["python"], wanted)


def windows_tree(cache: Cache, table: Mapping[str, Any], name: str, folder: Path) -> None:
    """A full Python as the lane makes it, with the bundle's packages, stand-ins and patches."""
    common, bundle = table["common"], table["bundle"][name]
    pythons = Pythons(cache, wine.provide(cache))
    copy_tree(pythons.embedded(common["python"]), folder)
    (folder / f"python{distribution(common['python']).compact}._pth").unlink()
    copy_tree(pythons.development(common["python"]), folder)
    site_packages = folder / "Lib" / "site-packages"
    shutil.copytree(_packages(cache, table, name), site_packages)
    for place in common["leave_out"]:
        shutil.rmtree(site_packages / place, ignore_errors=True)
    if "upstream" in bundle:
        lay_over(Upstream(cache).sources(bundle["upstream"]), site_packages)
    if "patch" in bundle:
        _patch(site_packages / "triton", bundle["patch"])
    if bundle.get("standin_torch"):
        standin_torch(site_packages)


def standin_torch(folder: Path) -> None:
    """The parts of torch that Triton before 3.8 uses. No version.py: to tritonwin there is no torch."""
    files = torch_files("")
    del files["torch/version.py"]
    files["torch/__init__.py"] = (
        "from types import SimpleNamespace\n\nfrom torch import _C, cuda\n\n"
        '__version__ = "0.0.0+standin"\nversion = SimpleNamespace(hip=None, cuda="0.0")\n'
    )
    for place, text in files.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")


def _patch(triton: Path, rules: Sequence[str]) -> None:
    chosen = [] if list(rules) == ["all"] else [word for rule in rules for word in ("--only", rule)]
    with tempfile.TemporaryDirectory() as journals:  # nobody will take this back
        done = subprocess.run(
            [sys.executable, "-m", "tritonwin", "patch", "apply", "--triton", str(triton), *chosen],
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "TRITONWIN_HOME": journals},
            timeout=300, check=False,
        )  # fmt: skip
    say(done.stdout.strip())
    if done.returncode:
        raise SystemExit(f"tritonwin patch apply ended with {done.returncode}")


def _pack(folder: Path, archive: Path, preset: int) -> None:
    unfinished = archive.with_suffix(".new")
    filters: list[dict[str, int]] = [
        {"id": lzma.FILTER_X86},
        {"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": _DICTIONARY},
    ]
    with (
        lzma.open(unfinished, "wb", filters=filters) as stream,
        tarfile.open(fileobj=stream, mode="w") as tar,
    ):
        # like beside like: what is alike compresses together
        for path in sorted(folder.rglob("*"), key=lambda p: (p.suffix, p.name)):
            if path.is_file() or path.is_symlink():
                tar.add(path, path.relative_to(folder), recursive=False)
    unfinished.replace(archive)
    say(f"{archive} {archive.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
