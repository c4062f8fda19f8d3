"""Collect the wheels of a package from every place that may offer one.

A place is a folder, a file, a page, an index or an API. An address is asked once in a run, and all
of them together have one deadline. What the network answers is kept with its ETag, so that an
unchanged list is not sent again, and is used where a place does not answer.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

from tritonwin.support import addresses, download, packages
from tritonwin.support.addresses import DownloadError, without_secrets
from tritonwin.support.download import NoAnswerError, NotFoundError
from tritonwin.support.links import WheelLink, read_json, read_list
from tritonwin.support.lists import HUB_TREE, ListTable, Place, keep, kept, known_wheels
from tritonwin.support.wheels import WheelNameError
from tritonwin.system.codec import parse
from tritonwin.system.files import is_file, is_folder, names_in

# PEP 691 where an index has it, the older HTML page where it has not
ACCEPT = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"}
PAGE_LIMIT = 64 * 2**20  # bytes
_LIST_SUFFIXES = (".json", ".html", ".htm", ".txt", ".md", ".csv", ".whl")
_MOST_PAGES = 50
_SECONDS = 30.0  # for one page or wheel
_TOGETHER = 180.0  # for all pages of a run, and the parts of wheels that are read
_QUERIES = {"github-releases": "?per_page=100", "hub": "?recursive=true"}
_GITHUB = "https://api.github.com/"
# the next page in a field Link (RFC 8288): <https://api.example.org/list?page=2>; rel="next"
_NEXT = re.compile(r"""<([^<>]{1,2000})>\s*;\s*rel="?next\b""")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The wheels that were found, and notes on what could not be read.

    Attributes:
        unread: a place could not be read, and no list of it was kept.
    """

    links: tuple[WheelLink, ...] = ()
    notes: tuple[str, ...] = ()
    unread: bool = False


@dataclass
class _Run:
    """The memory of one run: answers by address, hosts that do not answer, the deadline."""

    answers: dict[str, Listing | None] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)  # places, each a line once
    until: float | None = None

    def seconds(self) -> float:
        """Time for the next page or wheel; raises DownloadError where all of it is used up."""
        now = time.monotonic()
        self.until = self.until or now + _TOGETHER
        if now >= self.until:
            raise DownloadError(f"not asked: the places of wheels took {_TOGETHER:.0f} s")
        return min(_SECONDS, self.until - now)


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Places of wheels, in the order in which equal wheels are preferred.

    Attributes:
        lists: what the user named: folders of wheels, files with a list, pages.
        indexes: package indexes (PEP 503) that pip asks by itself.
        torch_indexes: those of torch's own project, one a CUDA tag, the preferred one first.
        public: the public lists, which are asked last; None: they are not asked.
        offline: nothing is fetched; public lists are those that were kept or ship.
        folder: holds what is kept for the next run; None: nothing is kept.
        token: for GitHub's API.
        say: told of each place that is asked.
    """

    lists: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    torch_indexes: tuple[str, ...] = ()
    public: ListTable | None = None
    offline: bool = False
    folder: Path | None = None
    token: str | None = None
    say: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)
    run: _Run = field(default_factory=_Run, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class _Page:
    address: str
    links: tuple[WheelLink, ...]
    etag: str | None = None
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class KeptList:
    """A list as it was read, whole; `asked` is ISO 8601 in UTC."""

    asked: str
    pages: tuple[_Page, ...]


class _NotAListError(DownloadError):
    """The content is not in the form of its place: a portal's page, or another server's."""


def find(package: str, sources: Sources) -> Listing:
    """Every wheel of `package` (its normalised name) that the sources name, each once."""
    found: dict[str, WheelLink] = {}
    answers = [_answer(place, package, sources) or Listing() for place in _places(package, sources)]
    for link in itertools.chain.from_iterable(answer.links for answer in answers):
        if not _belongs(link, package):
            continue
        key = unquote(link.location)  # "+" and "%2B"
        first = found.get(key)
        if first is None or first.refused:
            found[key] = link
        elif first.sha256 is None and not link.refused:  # a second list completes the first
            found[key] = replace(first, sha256=link.sha256, size=first.size or link.size)
    return Listing(
        links=tuple(found.values()),
        notes=tuple(dict.fromkeys(note for answer in answers for note in answer.notes)),
        unread=any(answer.unread for answer in answers),
    )


def locate(project: str, file: str, sources: Sources) -> str | None:
    """The address of a file, a wheel or source archive, in the indexes; None where none has it."""
    for index in sources.indexes:
        answer = _answer(Place(address=index, form="index"), project, sources)
        for link in answer.links if answer else ():
            if link.file == file and link.refused is None:
                return link.location
    return None


def _places(package: str, sources: Sources) -> Iterator[Place]:
    yield from (Place(address=place) for place in sources.lists)
    known = packages.load().get(package)
    on_torch = (
        sources.torch_indexes if package == "torch" or (known and known.on_torch_index) else ()
    )
    yield from (Place(address=index, form="index") for index in (*on_torch, *sources.indexes))
    yield from sources.public.of(package) if sources.public else ()


def _belongs(link: WheelLink, package: str) -> bool:
    """True for a wheel of the package, and for an invalid name, which the chooser reports."""
    if link.file.endswith(".tar.gz"):
        return False
    try:
        return link.name.distribution == package
    except WheelNameError:
        return link.file.lower().replace("-", "_").startswith(package.replace("-", "_"))


def _answer(place: Place, package: str, sources: Sources) -> Listing | None:
    """All wheels of a place; for an index, those of the package. None: it is not there."""
    path, form = addresses.local_path(place.address), place.form
    if path is not None:
        return _on_disk(place, path.absolute(), package)
    if form is None:  # named by the user: a wheel, a list, or an index
        plain = place.address.partition("?")[0].partition("#")[0].lower()
        if plain.endswith(".whl"):
            return Listing(links=read_list(place.address, "", place.shown))
        if not plain.endswith(_LIST_SUFFIXES):
            found = _answer(replace(place, form="index"), package, sources)
            if found is not None:
                return found
    address = place.address + _QUERIES.get(form or "", "")
    if form == "index":
        address = f"{place.address.rstrip('/')}/{package}/"
    answers = sources.run.answers
    if address not in answers:
        answers[address] = _from_network(place, address, sources)
    return answers[address]


def _on_disk(place: Place, path: Path, package: str) -> Listing:
    """The wheels of a folder and of the one for the package below it, or of a file with a list."""
    if path.suffix.lower() == ".whl" and is_file(path):
        return Listing(links=(WheelLink(location=str(path), source=str(path)),))
    lists, links = list[Path](), list[WheelLink]()
    if place.form != "index" and not is_folder(path):
        lists.append(path)
    for folder in (path, path / package)[place.form == "index" :]:
        names = names_in(folder)
        if "index.html" in names:
            lists.append(folder / "index.html")
            continue  # other wheels in it are not offered, as a server would not
        wheels = (str(folder / name) for name in names if name.endswith(".whl"))
        links += (WheelLink(location=wheel, source=f"folder {folder}") for wheel in wheels)
    try:
        for file in lists:
            links += _links(place, download.read(str(file), limit=PAGE_LIMIT), file.as_uri())
    except DownloadError as error:
        return Listing(notes=(f"{place.name}: {error}".removeprefix(": "),), unread=True)
    return Listing(links=tuple(links))


# --- the network


def _from_network(place: Place, address: str, sources: Sources) -> Listing | None:
    before = kept(sources.folder, address, KeptList)
    read: list[_Page] = []
    try:
        if sources.offline:
            raise DownloadError(f"not asked, because of --offline: {without_secrets(address)}")
        if place.shown not in sources.run.told:
            sources.run.told.add(place.shown)
            sources.say(f"asking {place.shown}")
        known = {page.address: page for page in before.pages} if before else {}
        following: str | None = address
        while following is not None:
            if len(read) == _MOST_PAGES:
                raise _NotAListError(f"it has more than {_MOST_PAGES} pages")
            read.append(_page(place, following, sources, known.get(following)))
            following = read[-1].next
        if place.form != "index" and not any(page.links for page in read):
            raise _NotAListError("it names no wheel")
    except DownloadError as error:
        if isinstance(error, NotFoundError) and place.form == "index":
            return None  # an index without the package is normal
        pages, instead = before.pages if before else read, ""
        links = [link for page in pages for link in page.links]
        if before is not None:
            instead = f"; its list of {before.asked[:10]} is used"
        elif links:
            instead = "; only the pages before it are used"
        elif place.name and (shipped := known_wheels().of(place.name)):
            links += shipped
            instead = f"; the list of {known_wheels().date} that ships with tritonwin is used"
        advice = f". {error.help}" if isinstance(error, NoAnswerError) and error.help else ""
        said = f"{place.name}: {error}".removeprefix(": ")
        return Listing(
            links=tuple(links),
            notes=(f"{said}{instead}{advice}",),
            unread=before is None and not sources.offline,
        )
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    keep(sources.folder, address, KeptList(asked=now, pages=tuple(read)))
    return Listing(links=tuple(k for page in read for k in page.links))


def _page(place: Place, address: str, sources: Sources, known: _Page | None) -> _Page:
    host = urlsplit(address).netloc.rpartition("@")[2]
    if host in sources.run.silent:
        raise DownloadError(f"not asked, as {host} refused or did not answer before")
    headers = {"Accept": "application/json"} if place.form in _QUERIES else dict(ACCEPT)
    etag = known.etag if known else None
    if sources.token and address.startswith(_GITHUB):
        headers["Authorization"] = f"Bearer {sources.token}"
    try:
        seconds = sources.run.seconds()
        answer = download.ask(
            address, limit=PAGE_LIMIT, timeout=seconds, headers=headers, etag=etag
        )
    except NoAnswerError:
        sources.run.silent.add(host)
        raise
    if answer is None:
        if known is None:
            raise _NotAListError("it answers with 304 where nothing is known")
        return known
    content, said = answer
    links, more = _links(place, content, address), _NEXT.search(said.get("Link", ""))
    following = _following(address, more[1]) if more else None
    return _Page(address=address, links=links, etag=said.get("ETag"), next=following)


def _following(address: str, written: str) -> str:
    """The address of the next page, on the same host and with the same password.

    Raises:
        _NotAListError: it is none, or is elsewhere.
    """
    own = urlsplit(address)
    host = own.netloc.rpartition("@")[2]
    with contextlib.suppress(ValueError):
        parts = urlsplit(urljoin(address, written))
        if parts.scheme == own.scheme and parts.netloc in {own.netloc, host}:
            return parts._replace(netloc=own.netloc).geturl()
    raise _NotAListError(f"it leads on to {without_secrets(written)}")


def _links(place: Place, content: bytes, address: str) -> tuple[WheelLink, ...]:
    """The wheels that a place names in its answer.

    Raises:
        _NotAListError: it is not in the form of the place.
    """
    if place.form not in _QUERIES:
        links = read_list(content.decode("utf-8-sig", "replace"), address, place.shown)
        index = place.address if place.form == "index" else None
        return tuple(replace(link, index=index) for link in links) if index else links
    try:
        tree: Any = parse(content.decode("utf-8-sig"))
        if place.form == "hub":
            wheels = [_of_hub(place, e) for e in tree if e["path"].endswith(".whl")]
        else:
            wheels = [asset for release in tree for asset in release["assets"]]
            # an upload that is still under way, or was broken off, has another state
            wheels = [a for a in wheels if a.get("state", "uploaded") == "uploaded"]
    except (ValueError, LookupError, TypeError, AttributeError):
        kind = "a hub's list of files" if place.form == "hub" else "GitHub's list of releases"
        raise _NotAListError(f"it is not {kind}: a portal or proxy may have answered") from None
    return read_json(wheels, address, place.name)


def _of_hub(place: Place, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A file of a hub's tree in the form of other lists."""
    found = HUB_TREE.fullmatch(place.address)
    if found is None:
        raise _NotAListError("a hub's address is https://HOST/api/models/OWNER/NAME/tree/main")
    host, repository, revision = found.groups()
    path = quote(entry["path"], safe="/+")
    return {
        "url": f"{host}/{repository}/resolve/{revision}/{path}",
        "sha256": (entry.get("lfs") or {}).get("oid"),
        "size": entry.get("size"),
    }
