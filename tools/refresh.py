#!/usr/bin/env python3
"""Write the tables that follow from lists of packages: `python tools/refresh.py PART ...`

matrix [--check]       support/matrix.toml, pairs of torch and Triton and releases, from the index
                       that pip is configured for. A pair comes from the Requires-Dist line of a
                       torch wheel's metadata; the CUDA version of a release from the ptxas inside
                       its wheel, which is read for a series that the file does not know yet.
                       --check only says what is missing; exit status 1 when something is.
wheels DATE FILE...    support/known_wheels.toml from lists of any kind that `install` reads,
                       fetched on that day: wheels for Windows of the packages in lists.toml, each
                       under the place whose addresses it has
sources [RELEASE...]   patch/known_sources.json, what the files that rules are about hold, in
                       "3.8.0" and "windows:3.8.0.post29"; without releases, those that it names
                       already. tests/unit/test_patch_versions.py must know a new one too.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import tempfile
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version
from winlane.cache import Cache
from winlane.upstream import Upstream, remote

from tritonwin.facts.toolchain.cuda import banner_version
from tritonwin.patch import engine
from tritonwin.patch.rules import FILES
from tritonwin.support import download, lists, matrix
from tritonwin.support.addresses import DownloadError
from tritonwin.support.download import NotFoundError
from tritonwin.support.links import WheelLink, read_list
from tritonwin.support.lists import KnownFiles, KnownWheels, ListTable
from tritonwin.support.matrix import Matrix, Pair, PairTable, Release
from tritonwin.support.pip import Pip, configured_places
from tritonwin.support.sources import find
from tritonwin.support.wheels import WheelNameError
from tritonwin.system.toml import read_resource

SUPPORT = Path(matrix.__file__).parent
MATRIX = SUPPORT / "matrix.toml"
SOURCES = Path(engine.__file__).with_name("known_sources.json")
OLDEST_TORCH = Version("2.4")
WIDTH = 100
FORK = "triton-windows "
_PTXAS = "triton/backends/nvidia/bin/ptxas.exe"
_MATRIX_HEAD = """\
# Which torch asks for which Triton, and which triton-windows serves it. Written by
# tools/refresh.py from the package index; do not edit it. hardware.toml is the other half.
#
# `triton` is the series that torch asks for in its metadata; `windows` the series of
# triton-windows that serves it. A pair without `windows` has no triton-windows release yet.
# `bundled_cuda` is the CUDA version of the ptxas inside the wheel.
"""
_WHEELS_HEAD = """\
# Wheels for Windows that the places in lists.toml named on this day, without their hashes: used
# where a place does not answer and nothing was kept. Written by tools/refresh.py.
"""
# torch asks for 3.0, which was never released for Windows; the fork's README pairs it with 3.1
_SERVED_BY = {"3.0": "3.1"}


def render(head: str, table: PairTable | KnownWheels) -> str:
    """A record of a file as TOML: texts first, then a table for each record in its lists."""
    lines = [head]
    for name, value in asdict(table).items():
        if isinstance(value, str):
            lines.append(f"{name} = {json.dumps(value)}")
            continue
        for row in value:
            lines += ["", f"[[{name}]]"]
            for key, of_row in row.items():
                if of_row is not None:
                    line = f"{key} = {json.dumps(of_row)}"
                    long = len(line) > WIDTH and not isinstance(of_row, str)
                    lines.append(f"{key} = {json.dumps(of_row, indent=4)}" if long else line)
    return "\n".join(lines) + "\n"


# -- matrix


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
    return {series_of(version): by_version[version] for version in sorted(by_version)}


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
    """Sentences about CUDA tags on the page of torch's indexes that `hardware.toml` lacks."""
    rows = set(known)
    oldest = min(rows)
    found = set(re.findall(r'href="[^"]*?\b(cu\d{3})/?"', page))
    return [f"torch has an index {tag}" for tag in sorted(found - rows) if tag > oldest]


def _unknown_tags() -> list[str]:
    table = matrix.load()
    try:
        page = download.read(f"{table.torch_index}/", limit=2**20).decode("utf-8", "replace")
    except DownloadError as error:
        print(f"torch's indexes: {error}", file=sys.stderr)
        return []
    return unknown_tags(page, (row.tag for row in table.torch_tags))


def _pairs(torch: dict[str, list[WheelLink]], released: set[str], known: Matrix) -> Iterator[Pair]:
    for series, links in torch.items():
        if Version(series) < OLDEST_TORCH:
            continue
        metadata, old = _linux_metadata(links), known.pair(series)
        wanted = wanted_triton(metadata) if metadata else old and old.triton
        if wanted:
            yield pair(series, wanted, released)
        else:
            print(f"torch {series}: what it wants cannot be read", file=sys.stderr)


def _releases(windows: dict[str, list[WheelLink]], known: Matrix) -> Iterator[Release]:
    for series, links in windows.items():
        if old := known.release(series):  # within a series the ptxas stays
            yield release(links, old.bundled_cuda, old.source)
        else:
            yield release(links, _bundled_cuda(links[0]), "index; ptxas in the wheel")


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
    with zipfile.ZipFile(remote(link.location)) as wheel, tempfile.TemporaryDirectory() as folder:
        version = banner_version(Path(wheel.extract(_PTXAS, folder)))
    if version is None:
        raise SystemExit(f"{link.file}: no version in its ptxas")
    return version


def write_matrix(words: Sequence[str]) -> int:
    sources = configured_places(Pip((sys.executable, "-m", "pip")))
    torch = newest_by_series(find("torch", sources).links)
    windows = newest_by_series(find("triton-windows", sources).links)
    if not torch or not windows:
        print("the index has no torch or no triton-windows", file=sys.stderr)
        return 1
    known = matrix.load()
    if "--check" in words:
        newest = (str(v[0].name.version) for v in windows.values())
        rows = [*missing(known, torch, newest), *_unknown_tags()]
        print("\n".join(rows) or "nothing is missing")
        return 1 if rows else 0
    table = PairTable(
        data_date=dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        pairs=tuple(_pairs(torch, set(windows), known)),
        releases=tuple(_releases(windows, known)),
    )
    MATRIX.write_text(render(_MATRIX_HEAD, table), encoding="utf-8", newline="\n")
    return 0


# -- wheels


def owners(table: ListTable) -> dict[str, str]:
    """The beginnings of the addresses of files, to the names of their places."""
    found = {}
    for place in table.places:
        releases = re.fullmatch(r"https://api\.github\.com/repos/(.+)/releases", place.address)
        if releases:
            found[f"https://github.com/{releases[1]}/releases/download/"] = place.name
        elif tree := lists.HUB_TREE.fullmatch(place.address):
            found[f"{tree[1]}/{tree[2]}/resolve/{tree[3]}/"] = place.name
    return found


def known_wheels(links: Iterable[WheelLink], table: ListTable, date: str) -> KnownWheels:
    """The wheels for Windows of the table's packages in its places."""
    packages, begins = {name for place in table.places for name in place.packages}, owners(table)
    groups: dict[tuple[str, str], set[str]] = defaultdict(set)
    for link in links:
        try:
            name = link.name
        except WheelNameError:
            continue
        place = next((p for start, p in begins.items() if link.location.startswith(start)), None)
        windows = any(tag.platform == "win_amd64" for tag in name.tags)
        if place and windows and name.distribution in packages:
            base, _, file = link.location.rpartition("/")
            groups[place, f"{base}/"].add(file)
    rows = (KnownFiles(place=p, base=b, files=tuple(sorted(groups[p, b]))) for p, b in groups)
    return KnownWheels(date=date, groups=tuple(sorted(rows, key=lambda row: (row.place, row.base))))


def write_wheels(words: Sequence[str]) -> int:
    links: list[WheelLink] = []
    for path in map(Path, words[1:]):
        links += read_list(path.read_text("utf-8"), "https://example.org/", path.name)
    table = read_resource("tritonwin.support", "lists.toml", ListTable)
    text = render(_WHEELS_HEAD, known_wheels(links, table, words[0]))
    (SUPPORT / "known_wheels.toml").write_text(text, encoding="utf-8", newline="\n")
    return 0


# -- sources


def write_sources(words: Sequence[str]) -> int:
    releases = [word.replace("windows:", FORK) for word in words] or _present()
    table: dict[str, dict[str, list[str]]] = {file: {} for file in FILES}
    upstream = Upstream(Cache.open())
    for name in releases:
        of_fork = name.startswith(FORK)
        folder = upstream.fork(name.removeprefix(FORK)) if of_fork else upstream.sources(name)
        for file in FILES:
            path = folder / "triton" / file
            if path.exists():
                text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
                table[file].setdefault(engine.digest(text), []).append(name)
    SOURCES.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(releases)} releases")
    return 0


def _present() -> list[str]:
    found = {
        n for texts in engine.known_sources().values() for names in texts.values() for n in names
    }
    return sorted(found, key=lambda n: (n.startswith(FORK), Version(n.removeprefix(FORK))))


PARTS = {"matrix": write_matrix, "wheels": write_wheels, "sources": write_sources}

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in PARTS:
        sys.exit(__doc__)
    sys.exit(PARTS[sys.argv[1]](sys.argv[2:]))
