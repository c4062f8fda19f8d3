#!/usr/bin/env python3
"""Write `support/matrix.toml` from the package index: pairs of torch and Triton, releases.

    python tools/refresh_matrix.py           # write the file
    python tools/refresh_matrix.py --check   # say what is missing; exit status 1 when something is

The index is the one that pip is configured for. A pair comes from the Requires-Dist line of a
torch wheel's metadata; the CUDA version of a release from the ptxas inside its wheel, which is
downloaded for a series that the file does not know yet.
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import re
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from tritonwin.facts.toolchain.cuda import banner_version
from tritonwin.support import download, matrix
from tritonwin.support.addresses import DownloadError
from tritonwin.support.download import NotFoundError
from tritonwin.support.links import WheelLink
from tritonwin.support.matrix import Matrix, Pair, Release
from tritonwin.support.pip import Pip, configured_places
from tritonwin.support.sources import Sources, find
from tritonwin.support.wheels import WheelNameError

FILE = Path(matrix.__file__).with_name("matrix.toml")
OLDEST_TORCH = Version("2.4")
_PTXAS = "triton/backends/nvidia/bin/ptxas.exe"

_HEAD = """\
# Which torch asks for which Triton, and which triton-windows serves it. Written by
# tools/refresh_matrix.py from the package index; do not edit it. hardware.toml is the other half.
#
# `triton` is the series that torch asks for in its metadata; `windows` the series of
# triton-windows that serves it. A pair without `windows` has no triton-windows release yet.
# `bundled_cuda` is the CUDA version of the ptxas inside the wheel.
"""
# torch asks for 3.0, which was never released for Windows; the fork's README pairs it with 3.1
_SERVED_BY = {"3.0": "3.1"}


def series_of(version: Version) -> str:
    return f"{version.major}.{version.minor}"


def newest_by_series(links: Iterable[WheelLink]) -> dict[str, list[WheelLink]]:
    """The wheels of the newest final release of every series, the oldest series first."""
    by_version: dict[Version, list[WheelLink]] = defaultdict(list)
    for link in links:
        try:
            version = link.name.version
        except WheelNameError:
            continue
        if not version.is_prerelease and link.yanked is None:
            by_version[version].append(link)
    newest: dict[str, list[WheelLink]] = {}
    for version in sorted(by_version):
        newest[series_of(version)] = by_version[version]
    return newest


def wanted_triton(metadata: str) -> str | None:
    """The series of Triton in a torch wheel's METADATA: "3.5" for `triton==3.5.1`."""
    for line in metadata.splitlines():
        if not line.startswith("Requires-Dist:"):
            continue
        try:
            requirement = Requirement(line.partition(":")[2].strip())
        except InvalidRequirement:
            continue
        if requirement.name in {"triton", "pytorch-triton"}:
            found = re.search(r"\d+\.\d+", str(requirement.specifier))
            return found[0] if found else None
    return None


def pair(torch: str, triton: str, released: set[str]) -> Pair:
    """The row of a torch, given the series of triton-windows that are on the index."""
    windows = triton if triton in released else _SERVED_BY.get(triton)
    if windows is None:
        source = f"metadata; no triton-windows {triton} on the index"
    elif windows != triton:
        source = f"metadata; fork README: {windows}, since {triton} is not on the index"
    else:
        source = "metadata; index"
    return Pair(torch=torch, triton=triton, windows=windows, source=source)


def release(links: Sequence[WheelLink], bundled_cuda: str, source: str) -> Release:
    """The row of a series, from the wheels of its newest release."""
    version = links[0].name.version
    tags = [tag for link in links for tag in link.name.tags]
    pythons = {t.interpreter for t in tags if re.fullmatch(r"cp3\d+", t.interpreter)}
    return Release(
        series=series_of(version),
        newest=str(version),
        pythons=tuple(f"3.{minor}" for minor in sorted(int(p[3:]) for p in pythons)),
        platforms=tuple(sorted({t.platform for t in tags})),
        bundled_cuda=bundled_cuda,
        source=source,
    )


def missing(known: Matrix, torch: Iterable[str], windows: Iterable[str]) -> list[str]:
    """Sentences about rows that the index has and the table lacks."""
    pairs = {p.torch for p in known.pairs}
    rows = [f"torch {s} has no row" for s in torch if s not in pairs and Version(s) >= OLDEST_TORCH]
    newest = {r.series: r.newest for r in known.releases}
    for version in windows:
        series = series_of(Version(version))
        if series not in newest:
            rows.append(f"triton-windows {series} has no row")
        elif Version(version) > Version(newest[series]):
            rows.append(f"triton-windows {version} is newer than {newest[series]}")
    return rows


def unknown_tags(page: str, known: Iterable[str]) -> list[str]:
    """Sentences about CUDA tags on the page of torch's indexes that `indexes.toml` lacks."""
    rows = set(known)
    oldest = min(rows)
    found = set(re.findall(r'href="[^"]*?\b(cu\d{3})/?"', page))
    return [f"torch has an index {tag}" for tag in sorted(found - rows) if tag > oldest]


def _unknown_tags() -> list[str]:
    table = matrix.indexes()
    try:
        page = download.read(f"{table.torch}/", limit=2**20).decode("utf-8", "replace")
    except DownloadError as error:
        print(f"torch's indexes: {error}", file=sys.stderr)
        return []
    return unknown_tags(page, (row.tag for row in table.torch_tags))


def render(pairs: Iterable[Pair], releases: Iterable[Release], date: str) -> str:
    """The text of matrix.toml."""
    lines = [_HEAD, f'data_date = "{date}"']
    for row in pairs:
        lines += ["", "[[pairs]]", f'torch = "{row.torch}"', f'triton = "{row.triton}"']
        if row.windows:
            lines.append(f'windows = "{row.windows}"')
        lines.append(f'source = "{row.source}"')
    for item in releases:
        lines += ["", "[[releases]]", f'series = "{item.series}"', f'newest = "{item.newest}"']
        lines.append(f"pythons = {_array(item.pythons)}")
        lines.append(f"platforms = {_array(item.platforms)}")
        lines += [f'bundled_cuda = "{item.bundled_cuda}"', f'source = "{item.source}"']
    return "\n".join(lines) + "\n"


def _array(values: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _pairs(torch: dict[str, list[WheelLink]], released: set[str], known: Matrix) -> list[Pair]:
    rows = []
    for series in sorted(torch, key=Version):
        if Version(series) < OLDEST_TORCH:
            continue
        metadata, old = _linux_metadata(torch[series]), known.pair(series)
        wanted = wanted_triton(metadata) if metadata else old and old.triton
        if wanted:
            rows.append(pair(series, wanted, released))
        else:
            print(f"torch {series}: what it wants cannot be read", file=sys.stderr)
    return rows


def _releases(windows: dict[str, list[WheelLink]], known: Matrix) -> list[Release]:
    rows = []
    for series, links in windows.items():
        old = known.release(series)
        if old:  # within a series the ptxas stays
            rows.append(release(links, old.bundled_cuda, old.source))
        else:
            rows.append(release(links, _bundled_cuda(links[0]), "index; ptxas in the wheel"))
    return rows


def _linux_metadata(links: Sequence[WheelLink]) -> str | None:
    """The METADATA of the first wheel that has it apart; only Linux wheels ask for Triton."""
    for link in links:
        if link.file.endswith("x86_64.whl"):
            try:
                return download.read(link.location + ".metadata").decode()
            except NotFoundError:
                continue
    return None


def _bundled_cuda(link: WheelLink) -> str:
    print(f"downloading {link.file}", file=sys.stderr)
    content = download.read(link.location, limit=1024**3, timeout=1800)
    with (
        zipfile.ZipFile(io.BytesIO(content)) as wheel,
        tempfile.TemporaryDirectory() as folder,
    ):
        version = banner_version(Path(wheel.extract(_PTXAS, folder)))
    if version is None:
        raise SystemExit(f"{link.file}: no version in its ptxas")
    return version


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="only say what is missing")
    check = arguments.parse_args().check
    places = configured_places(Pip((sys.executable, "-m", "pip")))
    sources = Sources(indexes=tuple(i for i in (places.index,) if i))
    torch = newest_by_series(find("torch", sources).links)
    windows = newest_by_series(find("triton-windows", sources).links)
    if not torch or not windows:
        print("the index has no torch or no triton-windows", file=sys.stderr)
        return 1
    known = matrix.load()
    if check:
        newest = (str(v[0].name.version) for v in windows.values())
        rows = [*missing(known, torch, newest), *_unknown_tags()]
        print("\n".join(rows) or "nothing is missing")
        return 1 if rows else 0
    date = dt.datetime.now(tz=dt.timezone.utc).date().isoformat()
    text = render(_pairs(torch, set(windows), known), _releases(windows, known), date)
    FILE.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
