#!/usr/bin/env python3
"""Write `support/known_wheels.toml` from lists that were fetched: names and addresses, with a date.

    python tools/refresh_known_wheels.py --date 2026-08-18 packages.md wheels.json

A file is a list of any kind that `install` reads. Wheels for Windows of the packages in
`lists.toml` are taken, each under the place whose addresses it has.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path

from tritonwin.support import lists
from tritonwin.support.links import WheelLink, read_list
from tritonwin.support.lists import ListTable
from tritonwin.support.wheels import WheelNameError
from tritonwin.system.toml import read_resource

FILE = Path(str(files("tritonwin.support"))) / "known_wheels.toml"
_RELEASES = re.compile(r"https://api\.github\.com/repos/(.+)/releases")
_HEAD = """\
# Wheels for Windows that the places in lists.toml named on this day, without their hashes: used
# where a place does not answer and nothing was kept. Written by tools/refresh_known_wheels.py.
"""


def owners(table: ListTable) -> dict[str, str]:
    """The beginnings of the addresses of files, to the names of their places."""
    found = {}
    for place in table.places:
        if repository := re.fullmatch(
            r"https://api\.github\.com/repos/(.+)/releases", place.address
        ):
            found[f"https://github.com/{repository[1]}/releases/download/"] = place.name
        elif tree := lists.HUB_TREE.fullmatch(place.address):
            found[f"{tree[1]}/{tree[2]}/resolve/{tree[3]}/"] = place.name
    return found


def wanted(links: Iterable[WheelLink], table: ListTable) -> Iterator[tuple[str, str, str]]:
    """Place, address of the folder and name of each wheel that is kept."""
    packages, begins = {row.name for row in table.packages}, owners(table)
    for link in links:
        try:
            name = link.name
        except WheelNameError:
            continue
        place = next((p for start, p in begins.items() if link.location.startswith(start)), None)
        windows = any(tag.platform == "win_amd64" for tag in name.tags)
        if place and windows and name.distribution in packages:
            base, _, file = link.location.rpartition("/")
            yield place, f"{base}/", file


def render(rows: Iterable[tuple[str, str, str]], date: str) -> str:
    """The text of known_wheels.toml."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for place, base, file in sorted(set(rows)):
        groups[place, base].append(file)
    lines = [_HEAD, f'date = "{date}"']
    for (place, base), names in groups.items():
        lines += ["", "[[groups]]", f'place = "{place}"', f'base = "{base}"', "files = ["]
        lines += [f'    "{name}",' for name in names] + ["]"]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--date", required=True, help="the day on which the lists were fetched")
    parser.add_argument("lists", nargs="+", type=Path)
    given = parser.parse_args(arguments)
    links: list[WheelLink] = []
    for path in given.lists:
        links += read_list(path.read_text("utf-8"), "https://example.org/", path.name)
    table = read_resource("tritonwin.support", "lists.toml", ListTable)
    FILE.write_text(render(wanted(links, table), given.date), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
