"""The table of public lists of wheels, a dated copy of what they named, and answers that are kept.

`lists.toml` names the places; TRITONWIN_LISTS another table. `known_wheels.toml` is the copy, which
`tools/refresh.py` writes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from tritonwin.errors import UserError
from tritonwin.support import download
from tritonwin.support.addresses import DownloadError, without_secrets
from tritonwin.support.links import WheelLink
from tritonwin.system import toml
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.files import read_bytes, write_whole
from tritonwin.system.host import Environment

T = TypeVar("T")
Form = Literal["github-releases", "hub", "index", "page"]

VARIABLE = "TRITONWIN_LISTS"
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
HUB_TREE = re.compile(r"(.+)/api/models/([^/]+/[^/]+)/tree/(.+)")
_TABLE_LIMIT = 2**20  # bytes
_KEPT_LIMIT = 64 * 2**20
_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place that publishes wheels.

    Attributes:
        name: empty for one that the user, or the target's pip, named.
        form: None: found out when it is asked.
        address: of the API, the index, the page; or a path.
        packages: that it has, by their normalised names.
        hashes: how the SHA-256 of its wheels is known.
        trust: why it is asked.
        checked: the day on which this was looked at.
    """

    name: str = ""
    form: Form | None = None
    address: str
    packages: tuple[str, ...] = ()
    hashes: str = ""
    trust: str = ""
    checked: str = ""

    @property
    def shown(self) -> str:
        return self.name or without_secrets(self.address)


@dataclass(frozen=True, kw_only=True)
class ListTable:
    """The content of `lists.toml`, and of the file that TRITONWIN_LISTS names.

    Attributes:
        torch: address below which the indexes of torch lie, one a CUDA tag; None: PyTorch's.
    """

    torch: str | None = None
    places: tuple[Place, ...]

    def of(self, package: str) -> tuple[Place, ...]:
        """The places of a package (its normalised name), the preferred one first."""
        return tuple(place for place in self.places if package in place.packages)


def public_lists(environment: Environment) -> ListTable:
    """The shipped table, or that of TRITONWIN_LISTS.

    Raises:
        UserError: that one cannot be read.
    """
    named = (environment.get(VARIABLE) or "").strip().strip('"')
    if not named:
        return toml.read_resource("tritonwin.support", "lists.toml", ListTable)
    try:
        text = download.read(named, limit=_TABLE_LIMIT, timeout=_SECONDS)
        tree = toml.loads(text.decode("utf-8-sig"))
        return from_json(ListTable, tree, "lists", strict=True)
    except (DownloadError, ValueError) as error:
        raise UserError(
            f"{without_secrets(named)}, which {VARIABLE} names, is no table of lists: {error}",
            "Correct it as docs/install.md shows, or add --no-default-lists.",
        ) from None


def token_of(environment: Environment) -> str | None:
    """The user's token for GitHub's API."""
    tokens = ((environment.get(name) or "").strip() for name in TOKENS)
    return next((token for token in tokens if re.fullmatch("[!-~]+", token)), None)


# --- the copy that ships


@dataclass(frozen=True, kw_only=True)
class KnownFiles:
    """Wheels of a place, below one address."""

    place: str
    base: str
    files: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KnownWheels:
    """The content of `known_wheels.toml`: names and addresses, without hashes."""

    date: str
    groups: tuple[KnownFiles, ...]

    def of(self, place: str) -> tuple[WheelLink, ...]:
        groups = (group for group in self.groups if group.place == place)
        return tuple(
            WheelLink(location=group.base + file, source=place)
            for group in groups
            for file in group.files
        )


@cache
def known_wheels() -> KnownWheels:
    """The shipped copy."""
    return toml.read_resource("tritonwin.support", "known_wheels.toml", KnownWheels)


# --- answers that are kept for the next run


def kept(folder: Path | None, address: str, cls: type[T]) -> T | None:
    """The record that was kept for an address; None: there is none, or a damaged or older one."""
    content = read_bytes(_file(folder, address, cls), limit=_KEPT_LIMIT) if folder else None
    if content is None:
        return None
    try:
        tree: Any = parse(content.decode("utf-8"))
        mine = tree["address"] == address
        return from_json(cls, tree["content"], strict=True) if mine else None
    except (ValueError, LookupError, TypeError):
        return None


def keep(folder: Path | None, address: str, record: object) -> None:
    """Write a record for the next run, which does without where that is not possible."""
    if folder is None or "@" in urlsplit(address).netloc:  # no password is written to the disk
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"address": address, "content": to_json(record)}).encode()
        write_whole(_file(folder, address, type(record)), content)


def _file(folder: Path, address: str, cls: type[object]) -> Path:
    key = hashlib.sha256(f"{cls.__name__} {address}".encode()).hexdigest()[:32]
    return folder / f"{key}.json"
