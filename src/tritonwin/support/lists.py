"""The public lists of wheels that are asked where the user names none, from `lists.toml`.

A place is asked once in a run. Its answer is kept below tritonwin's data folder with its ETag, so
that an unchanged list is not sent again, and is used where the place does not answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, urljoin, urlsplit

from tritonwin.errors import UserError
from tritonwin.support import download
from tritonwin.support.download import (
    DownloadError,
    LimitReachedError,
    NoAnswerError,
    NotFoundError,
    UnauthorizedError,
    without_secrets,
)
from tritonwin.support.links import WheelLink, read_json, read_list
from tritonwin.system import toml
from tritonwin.system.codec import from_json, parse, to_json
from tritonwin.system.data_folder import data_folder
from tritonwin.system.files import read_bytes, write_whole
from tritonwin.system.host import Environment

VARIABLE = "TRITONWIN_LISTS"
Form = Literal["github-releases", "hub", "index", "page"]

# PEP 691 where an index has it, the older HTML page where it has not
ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"}
PAGE_LIMIT = 64 * 2**20  # bytes
_TABLE_LIMIT = 2**20  # bytes
_MOST_PAGES = 50
_SECONDS = 30.0  # for one page
_QUERIES: Mapping[Form, str] = {
    "github-releases": "?per_page=100",
    "hub": "?recursive=true",
    "index": "",
    "page": "",
}
_HUB_TREE = re.compile(r"(.+)/api/models/([^/]+/[^/]+)/tree/(.+)")
_GITHUB = "https://api.github.com/"
_TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
# counted up when pages are read in another way, so that the kept ones are fetched again
_READER = 1


@dataclass(frozen=True, kw_only=True)
class ListPlace:
    """A place that publishes wheels.

    Attributes:
        address: of the API, the index or the page.
        hashes: how the SHA-256 of its wheels is known.
        trust: why it is asked.
        checked: the day on which this was looked at.
    """

    name: str
    form: Form
    address: str
    hashes: str
    trust: str
    checked: str


@dataclass(frozen=True, kw_only=True)
class PackageLists:
    """The places of one package, by their names, the preferred one first."""

    name: str  # normalised
    places: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ListTable:
    """The content of `lists.toml`, and of the file that TRITONWIN_LISTS names."""

    places: tuple[ListPlace, ...]
    packages: tuple[PackageLists, ...]

    def faults(self) -> Iterator[str]:
        """Contradictions in the table, and addresses that may not be used."""
        names = [place.name for place in self.places]
        for place in self.places:
            if names.count(place.name) > 1:
                yield f"two places are called {place.name}"
            if not download.is_trusted(place.address):
                yield f"{place.name}: only https, localhost and local files are used"
            if place.form == "hub" and not _HUB_TREE.fullmatch(place.address):
                yield f"{place.name}: the address of a hub is https://HOST/api/models/A/B/tree/main"
        for package in self.packages:
            for name in package.places:
                if name not in names:
                    yield f"{package.name}: there is no place {name}"


@dataclass(frozen=True, kw_only=True)
class _Page:
    address: str
    links: tuple[WheelLink, ...]
    etag: str | None = None
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """A list as it was read, whole."""

    reader: int
    address: str
    asked: str  # ISO 8601, UTC
    pages: tuple[_Page, ...]


@dataclass(frozen=True, kw_only=True)
class ListAnswer:
    """The wheels of one place, and notes on how they were had."""

    links: tuple[WheelLink, ...] = ()
    notes: tuple[str, ...] = ()


class _NotAListError(DownloadError):
    """The content is not in the form of its place: a portal's page, or another server's."""


@dataclass(frozen=True, kw_only=True)
class DefaultLists:
    """Asks the places of a table, each address once.

    Attributes:
        folder: holds the kept answers.
        token: for GitHub's API.
    """

    table: ListTable
    folder: Path
    token: str | None = None
    _answers: dict[str, ListAnswer] = field(default_factory=dict)
    _silent: set[str] = field(default_factory=set)  # hosts

    @classmethod
    def load(cls, environment: Environment) -> DefaultLists:
        """The shipped table, or that of TRITONWIN_LISTS.

        Raises:
            UserError: that one cannot be read.
        """
        tokens = ((environment.get(name) or "").strip() for name in _TOKENS)
        return cls(
            table=_table(environment),
            folder=data_folder(environment) / "lists",
            token=next((token for token in tokens if re.fullmatch("[!-~]+", token)), None),
        )

    def places_of(self, package: str) -> tuple[ListPlace, ...]:
        """The places of a package (its normalised name), the preferred one first."""
        by_name = {place.name: place for place in self.table.places}
        rows = (row for row in self.table.packages if row.name == package)
        return tuple(by_name[name] for row in rows for name in row.places)

    def ask(self, place: ListPlace, package: str) -> ListAnswer:
        """All wheels of a place; for an index, those of the package."""
        address = place.address + _QUERIES[place.form]
        if place.form == "index":
            address = f"{place.address.rstrip('/')}/{package}/"
        if address not in self._answers:
            self._answers[address] = self._asked(place, address)
        return self._answers[address]

    def _asked(self, place: ListPlace, address: str) -> ListAnswer:
        kept = self._kept(address)
        read: list[_Page] = []
        notes: list[str] = []
        try:
            self._read(place, address, kept, read, notes)
        except NotFoundError as error:
            if place.form == "index":  # an index without the package is normal
                return ListAnswer(notes=tuple(notes))
            notes.append(_instead(place, error, kept, read))
        except DownloadError as error:
            notes.append(_instead(place, error, kept, read))
        else:
            kept = _Kept(
                reader=_READER,
                address=address,
                asked=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                pages=tuple(read),
            )
            self._keep(kept)
        pages = kept.pages if kept else read
        links = tuple(link for page in pages for link in page.links)
        return ListAnswer(links=links, notes=tuple(notes))

    def _read(
        self,
        place: ListPlace,
        address: str,
        kept: _Kept | None,
        read: list[_Page],
        notes: list[str],
    ) -> None:
        """Add the pages of a place to `read`, as far as they come."""
        known = {page.address: page for page in kept.pages} if kept else {}
        following: str | None = address
        while following is not None:
            if len(read) == _MOST_PAGES:
                raise _NotAListError(f"it has more than {_MOST_PAGES} pages")
            page = self._page(place, following, known.get(following), notes)
            read.append(page)
            following = page.next
        if not any(page.links for page in read):
            raise _NotAListError("it names no wheel")

    def _page(self, place: ListPlace, address: str, known: _Page | None, notes: list[str]) -> _Page:
        host = urlsplit(address).netloc
        if host in self._silent:
            raise DownloadError(f"not asked, as {host} refused or did not answer before")
        headers = ACCEPT if place.form in {"index", "page"} else {"Accept": "application/json"}
        etag = known.etag if known else None
        token = self._token_for(address)
        try:
            try:
                answer = _ask(address, headers, etag, token)
            except UnauthorizedError:
                if token is None:
                    raise
                notes.append(f"{host} refuses the token in {' or '.join(_TOKENS)}")
                answer = _ask(address, headers, etag, None)
        except (LimitReachedError, NoAnswerError):
            self._silent.add(host)
            raise
        if answer is None:
            if known is None:
                raise _NotAListError("it answers with 304 where nothing is known")
            return known
        links = _READERS[place.form](answer.content, address, place)
        following = _following(address, answer.next) if answer.next else None
        return _Page(address=address, links=links, etag=answer.etag, next=following)

    def _token_for(self, address: str) -> str | None:
        return self.token if address.startswith(_GITHUB) else None

    def _file(self, address: str) -> Path:
        return self.folder / f"{hashlib.sha256(address.encode()).hexdigest()[:32]}.json"

    def _kept(self, address: str) -> _Kept | None:
        content = read_bytes(self._file(address), limit=PAGE_LIMIT)
        if content is None:
            return None
        try:
            kept = from_json(_Kept, parse(content.decode("utf-8")))
        except ValueError:  # damaged, or of another version
            return None
        return kept if (kept.reader, kept.address) == (_READER, address) else None

    def _keep(self, kept: _Kept) -> None:
        """Write the list for the next run, which does without where that is not possible."""
        if "@" in urlsplit(kept.address).netloc:  # a password is not written to the disk
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._file(kept.address), json.dumps(to_json(kept)).encode())


def _table(environment: Environment) -> ListTable:
    named = (environment.get(VARIABLE) or "").strip().strip('"')
    if not named:
        return toml.read_resource("tritonwin.support", "lists.toml", ListTable)
    try:
        text = download.read(named, limit=_TABLE_LIMIT, timeout=_SECONDS)
    except DownloadError as error:
        raise UserError(
            f"{VARIABLE}: {error}", "Correct the variable, or add --no-default-lists."
        ) from None
    try:
        tree = toml.loads(text.decode("utf-8-sig"))
        table = from_json(ListTable, tree, "lists", strict=True)
    except ValueError as error:
        wrong: str | None = str(error)
    else:
        wrong = next(table.faults(), None)
    if wrong is not None:
        raise UserError(
            f"{without_secrets(named)}, which {VARIABLE} names, is no table of lists: {wrong}",
            "docs/install.md shows such a table.",
        )
    return table


def _ask(
    address: str, headers: Mapping[str, str], etag: str | None, token: str | None
) -> download.Answer | None:
    sent = {**headers, "Authorization": f"Bearer {token}"} if token else headers
    return download.ask(address, limit=PAGE_LIMIT, timeout=_SECONDS, headers=sent, etag=etag)


def _following(address: str, written: str) -> str:
    """The address of the next page, on the same host and with the same password.

    Raises:
        _NotAListError: it is none, or is elsewhere.
    """
    own = urlsplit(address).netloc
    with contextlib.suppress(ValueError):
        parts = urlsplit(urljoin(address, written))
        following = parts._replace(netloc=own).geturl()
        same = parts.netloc in {own, own.rpartition("@")[2]}
        if same and parts.scheme == urlsplit(address).scheme:
            return following
    raise _NotAListError(f"it leads on to {without_secrets(written)}")


def _instead(place: ListPlace, error: DownloadError, kept: _Kept | None, read: list[_Page]) -> str:
    """A note on what is used where a place could not be read to its end."""
    limit = isinstance(error, LimitReachedError) and place.form == "github-releases"
    said = f"{place.name}: {error}"
    said += f" (a token in {_TOKENS[0]} raises it)" if limit else ""
    if kept is not None:
        return f"{said}; its list of {kept.asked[:10]} is used"
    if any(page.links for page in read):
        return f"{said}; only the pages before it are used"
    return said


def _github(content: bytes, address: str, place: ListPlace) -> tuple[WheelLink, ...]:
    releases = _entries(content, "GitHub's list of releases")
    assets = []
    for release in releases:
        if not isinstance(release.get("assets"), list):
            raise _NotAListError("it is not GitHub's list of releases")
        assets += [a for a in release["assets"] if isinstance(a, dict)]
    # an upload that is still under way, or was broken off, has another state
    whole = [a for a in assets if a.get("state", "uploaded") == "uploaded"]
    return read_json(whole, address, place.name)


def _hub(content: bytes, address: str, place: ListPlace) -> tuple[WheelLink, ...]:
    tree = _HUB_TREE.fullmatch(place.address)
    if tree is None:
        raise _NotAListError("its address is not that of a hub's tree")
    host, repository, revision = tree.groups()
    wheels = []
    for entry in _entries(content, "a hub's list of files"):
        path, lfs = entry.get("path"), entry.get("lfs")
        if not isinstance(path, str):
            raise _NotAListError("it is not a hub's list of files")
        if path.endswith(".whl"):
            wheels.append(
                {
                    "url": f"{host}/{repository}/resolve/{revision}/{quote(path, safe='/+')}",
                    "sha256": lfs.get("oid") if isinstance(lfs, dict) else None,
                    "size": entry.get("size"),
                }
            )
    return read_json(wheels, address, place.name)


def _entries(content: bytes, kind: str) -> list[dict[str, Any]]:
    try:
        tree: Any = parse(content.decode("utf-8-sig"))
    except ValueError:
        tree = None
    if not isinstance(tree, list) or not all(isinstance(entry, dict) for entry in tree):
        raise _NotAListError(f"it is not {kind}: a portal or proxy may have answered")
    return tree


def _any_list(content: bytes, address: str, place: ListPlace) -> tuple[WheelLink, ...]:
    base = address if download.is_url(address) else Path(address).absolute().as_uri()
    links = read_list(content.decode("utf-8-sig", "replace"), base, place.name)
    if place.form != "index":
        return links
    return tuple(replace(link, index=place.address) for link in links)


_READERS = {"github-releases": _github, "hub": _hub, "index": _any_list, "page": _any_list}
