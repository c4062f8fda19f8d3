"""Collect the wheels of a package from every place that may offer one, and read their metadata."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tritonwin.support import download, packages
from tritonwin.support.archives import DAMAGE, opened
from tritonwin.support.download import DownloadError, NotFoundError, is_url, without_secrets
from tritonwin.support.links import WheelLink, read_list
from tritonwin.support.lists import ACCEPT, PAGE_LIMIT, DefaultLists
from tritonwin.support.wheel_files import METADATA_LIMIT, fault
from tritonwin.support.wheels import WheelNameError
from tritonwin.system.files import is_file, is_folder, names_in

_LIST_SUFFIXES = (".json", ".html", ".htm", ".txt", ".md", ".csv", ".whl")


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Places of wheels, in the order in which equal wheels are preferred.

    Attributes:
        lists: what the user named: folders of wheels, files with a list, pages.
        indexes: package indexes (PEP 503) that pip asks by itself.
        torch_indexes: those of torch's own project, one a CUDA tag, the preferred one first.
        defaults: the public lists, which are asked last; None: they are not asked.
        offline: folders and files alone; nothing is fetched.
    """

    lists: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    torch_indexes: tuple[str, ...] = ()
    defaults: DefaultLists | None = None
    offline: bool = False


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The wheels that were found, and what could not be read."""

    links: tuple[WheelLink, ...]
    notes: tuple[str, ...] = ()


def find(package: str, sources: Sources) -> Listing:
    """Every wheel of `package` (its normalised name) that the sources name, each once."""
    found: dict[str, WheelLink] = {}
    notes: list[str] = []
    for place, is_index in _places(package, sources):
        if sources.offline and download.local_path(place) is None:
            notes.append(f"not asked, because of --offline: {without_secrets(place)}")
            continue
        try:
            links = _index_page(place, package) if is_index else read_place(place, package)
        except NotFoundError as error:
            if not is_index:  # an index without the package is normal
                notes.append(str(error))
            continue
        except DownloadError as error:
            notes.append(str(error))
            continue
        _add(links, found)
    if sources.defaults is not None:
        for listed in sources.defaults.places_of(package):
            answer = sources.defaults.ask(listed, package)
            notes += (note for note in answer.notes if note not in notes)
            _add(_of(package, answer.links), found)
    return Listing(links=tuple(found.values()), notes=tuple(notes))


def _add(links: Iterable[WheelLink], found: dict[str, WheelLink]) -> None:
    """Add wheels by their location; a second list completes the first."""
    for link in links:
        key = unquote(link.location)  # "+" and "%2B"
        first = found.get(key)
        if first is None or first.refused:
            found[key] = link
        elif first.sha256 is None and not link.refused:
            found[key] = replace(first, sha256=link.sha256, size=first.size or link.size)


def _places(package: str, sources: Sources) -> Iterator[tuple[str, bool]]:
    yield from ((place, False) for place in sources.lists)
    known = packages.load().get(package)
    if package == "torch" or (known and known.on_torch_index):
        yield from ((place, True) for place in sources.torch_indexes)
    yield from ((place, True) for place in sources.indexes)


def _index_page(index: str, package: str) -> tuple[WheelLink, ...]:
    page = f"{index.rstrip('/')}/{package}/"
    folder = download.local_path(page)
    if folder is not None and not is_file(folder / "index.html"):
        return _of(package, _folder(folder))  # a folder of wheels is not an index to pip
    links = _page(page) if folder is None else _folder(folder)
    return tuple(replace(link, index=index) for link in _of(package, links))


def read_place(place: str, package: str) -> tuple[WheelLink, ...]:
    """The wheels of a package in one place that the user named.

    A folder (of wheels, or laid out as an index), a file with a list of any kind, the address of a
    list, of an index or of a wheel.

    Raises:
        DownloadError: it cannot be read, or is not there (NotFoundError).
    """
    path = download.local_path(place)
    if path is not None:
        path = path.absolute()
        if is_folder(path):
            return _of(package, [*_folder(path), *_folder(path / package)])
        if path.suffix == ".whl" and is_file(path):
            return _of(package, [WheelLink(location=str(path), source=str(path))])
        return _of(package, _page(str(path)))
    suffix = urlsplit(place).path.lower()
    if suffix.endswith(".whl"):
        return _of(package, read_list(place, "", without_secrets(place)))
    if not suffix.endswith(_LIST_SUFFIXES):
        try:
            return _index_page(place, package)
        except NotFoundError:
            pass  # no index, so the address is that of a list
    return _of(package, _page(place))


def _of(package: str, links: Iterable[WheelLink]) -> tuple[WheelLink, ...]:
    """The wheels of the package; invalid names stay, so that the chooser can report them."""
    return tuple(link for link in links if _belongs(link, package))


def _belongs(link: WheelLink, package: str) -> bool:
    try:
        return link.name.distribution == package
    except WheelNameError:
        return link.file.lower().replace("-", "_").startswith(package.replace("-", "_"))


def _folder(folder: Path) -> list[WheelLink]:
    names = names_in(folder)
    if "index.html" in names:
        return list(_page(str(folder / "index.html")))
    return [
        WheelLink(location=str(folder / name), source=f"folder {folder}")
        for name in names
        if name.endswith(".whl")
    ]


def _page(place: str) -> tuple[WheelLink, ...]:
    content = download.read(place, limit=PAGE_LIMIT, headers=ACCEPT)
    base = place if is_url(place) else Path(place).as_uri()
    return read_list(content.decode("utf-8-sig", "replace"), base, without_secrets(place))


def requires_dist(link: WheelLink, *, offline: bool = False) -> tuple[str, ...] | None:
    """The wheel's Requires-Dist lines; None if they cannot be read without the whole wheel."""
    path = download.local_path(link.location)
    if path is not None:
        return _of_file(str(path), link)
    # some mirrors serve the metadata of PEP 658 without saying so
    address = link.metadata or (f"{link.location}.metadata" if link.index else None)
    if address is None or offline:
        return None
    try:
        return _lines(download.read(address, limit=METADATA_LIMIT))
    except DownloadError:
        return None


def fault_of(link: WheelLink) -> str | None:
    """The reason why a wheel on the disk is refused; None for others, which are not here yet."""
    path = download.local_path(link.location)
    return fault(path) if path is not None else None


def _of_file(path: str, link: WheelLink) -> tuple[str, ...] | None:
    prefix = "-".join(link.file.split("-")[:2])
    try:
        with zipfile.ZipFile(path) as wheel:
            member = wheel.getinfo(f"{prefix}.dist-info/METADATA")
            with opened(wheel, member) as stream:
                content = stream.read(METADATA_LIMIT + 1)
            return _lines(content) if len(content) <= METADATA_LIMIT else None
    except (OSError, *DAMAGE):
        return None


def _lines(content: bytes) -> tuple[str, ...]:
    headers = HeaderParser().parsestr(content.decode("utf-8", "replace"), headersonly=True)
    return tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", []))
