"""PCs, and the public lists as the server of `list_server` speaks them, filled with made wheels.

The names are those of the real lists that ship; a package index and torch's own are beside them.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from dataclasses import asdict
from functools import cache
from pathlib import Path

from list_server import ListServer, Reply
from oracle import Pc, best
from wheel_files import make_wheel

from tritonwin.support.links import WheelLink
from tritonwin.support.lists import ListTable, Place, known_wheels

PURE = "sageattention-1.0.6-py3-none-any.whl"
TORCH = ("2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.0", "2.13.0", "2.14.1")
CUDAS = ("12.4", "12.6", "12.8", "13.0")
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
PCS = [
    Pc(python, torch, cuda, capability)
    for torch, cuda, python, capability in itertools.product(
        TORCH, CUDAS, PYTHONS, ("7.5", "8.6", "8.9", "12.0")
    )
]
SOME = random.Random(18).sample(PCS, 24)
TAGS = ("cu124", "cu126", "cu128", "cu129", "cu130", "cu132", "cu134")
LISTED = (
    "flash-attn",
    "flash-attn-3",
    "sageattention",
    "sageattn3",
    "spas-sage-attn",
    "nunchaku",
    "natten",
    "block-sparse-attn",
)
PACKAGES = (*LISTED, "triton-windows", "xformers")
TRITON = {"2.6": "3.2", "2.7": "3.3", "2.8": "3.4", "2.9": "3.5", "2.10": "3.6", "2.11": "3.6"}
XFORMERS = {"0.0.29": "2.6.0", "0.0.31": "2.7.1", "0.0.32": "2.8.0", "0.0.33": "2.9.1"}


def known() -> tuple[WheelLink, ...]:
    """The real lists as they ship, and the release of SageAttention without compiled modules."""
    places = {group.place for group in known_wheels().groups}
    links = [link for place in sorted(places) for link in known_wheels().of(place)]
    return (*links, WheelLink(location=f"https://example.org/{PURE}", source="index", index="i"))


def serve(server: ListServer, folder: Path) -> tuple[str, ListTable]:
    """Releases in pages, trees of hubs, torch's indexes; the address of the package index."""
    by_place: dict[str, list[Path]] = {}
    for link in known()[:-1]:
        by_place.setdefault(link.source, []).append(make_wheel(folder / link.source, link.file))
    places = []
    for name, files in by_place.items():
        if name in {"wildminder", "lldacing-flash", "lldacing-natten"}:
            hub = server.hub(f"a/{name}", *files)
            places.append(Place(name=name, form="hub", address=hub, packages=LISTED))
            continue
        assets = [server.asset(file, digest=(name, file.name) not in _unhashed()) for file in files]
        pages = [assets[start : start + 100] for start in range(0, len(assets), 100)]
        address = server.releases(f"a/{name}", *pages)
        places.append(Place(name=name, form="github-releases", address=address, packages=LISTED))
    triton = [f"triton_windows-{v}.0.post9-py3-none-any.whl" for v in set(TRITON.values())]
    index = [make_wheel(folder / "i", file) for file in (*triton, PURE)]
    on_torch = [
        make_wheel(folder / "t", f"xformers-{v}-cp39-abi3-win_amd64.whl", [f"torch=={torch}"])
        for v, torch in XFORMERS.items()
    ]
    for tag in TAGS:
        server.index(f"torch/{tag}", *on_torch)
    table = ListTable(torch=f"{server.address}/torch", places=tuple(places))
    return server.index("simple", *index), table


def serve_one(server: ListServer, folder: Path) -> ListTable:
    """One place with one wheel of 2 MB that installs anywhere: PURE, at /files/PURE."""
    wheel = make_wheel(folder, PURE, more={"sageattention/data": os.urandom(2**21)})
    address = server.releases("me/sage", [server.asset(wheel)])
    place = Place(
        name="mirror", form="github-releases", address=address, packages=("sageattention",)
    )
    return ListTable(torch=server.address, places=(place,))


PORTAL = (
    b"<!DOCTYPE html><html><body><a href='/login'>Log in to the hotel's network</a></body></html>"
)
ONE_LIST = "/repos/me/sage/releases?per_page=100"  # of serve_one
# what a server may answer in place of that list, and what is said then
FAULTS = {
    "limit": (
        Reply(
            status=403,
            headers={"X-RateLimit-Remaining": "0"},
        ),
        "limit of requests is reached",
    ),
    "not there": (Reply(status=404), "HTTP 404"),
    "half": (Reply(b'[{"assets": [{"name": "', cut=9), "broke off after 9 of 23"),
    "portal": (Reply(PORTAL), "a portal or proxy may have answered"),
}


def as_toml(table: ListTable) -> str:
    """The table as TRITONWIN_LISTS names it."""
    lines = [f"torch = {json.dumps(table.torch)}"]
    for row in table.places:
        lines += ["[[places]]", *(f"{k} = {json.dumps(v)}" for k, v in asdict(row).items())]
    return "\n".join(lines)


@cache
def _unhashed() -> frozenset[tuple[str, str]]:
    """Some of a place's assets, for which the API states no digest, as for those before 2025."""
    old = [link.file for link in known_wheels().of("mjun0812")][::7]
    return frozenset(("mjun0812", file) for file in old)


@cache
def _hashed() -> tuple[str, ...]:
    return tuple(link.file for link in known() if (link.source, link.file) not in _unhashed())


def expected(package: str, pc: Pc) -> str | None:
    """The file that `install` has to take from that server."""
    series = pc.torch.rpartition(".")[0]
    if package == "triton-windows":
        has = series in TRITON and (pc.gpu, series) != ("12.0", "2.6")
        return f"triton_windows-{TRITON[series]}.0.post9-py3-none-any.whl" if has else None
    if package == "xformers":
        version = next((v for v, torch in XFORMERS.items() if torch == pc.torch), None)
        return f"xformers-{version}-cp39-abi3-win_amd64.whl" if version else None
    return best(package, _hashed(), pc)
