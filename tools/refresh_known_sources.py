"""Write src/tritonwin/patch/known_sources.json anew: what the files that rules are about hold.

    python tools/refresh_known_sources.py 3.0.0 3.1.0 ... windows:3.1.0.post17 ...

Without versions, those that the file names already. A version that is added here must be added to
tests/unit/test_patch_versions.py too: known means tried.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from winlane.cache import Cache
from winlane.upstream import Upstream

from tritonwin.patch.engine import digest
from tritonwin.patch.rules import FILES

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "src" / "tritonwin" / "patch" / "known_sources.json"
FORK = "triton-windows "


def main(names: list[str]) -> None:
    releases = [_spelled(name) for name in names] or _present()
    table: dict[str, dict[str, list[str]]] = {file: {} for file in FILES}
    upstream = Upstream(Cache.open())
    for release in releases:
        if release.startswith(FORK):
            folder = upstream.fork(release.removeprefix(FORK))
        else:
            folder = upstream.sources(release)
        for file in FILES:
            path = folder / "triton" / file
            if path.exists():
                text = path.read_bytes().decode("utf-8").replace("\r\n", "\n")
                table[file].setdefault(digest(text), []).append(release)
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(releases)} releases")


def _spelled(name: str) -> str:
    return FORK + name.removeprefix("windows:") if name.startswith("windows:") else name


def _present() -> list[str]:
    table = json.loads(TABLE.read_text())
    found = {release for texts in table.values() for names in texts.values() for release in names}
    return sorted(found, key=lambda name: (name.startswith(FORK), _order(name)))


def _order(name: str) -> tuple[int, ...]:
    version = name.removeprefix(FORK).replace(".post", ".")
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    main(sys.argv[1:])
