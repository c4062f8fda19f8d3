"""Lists of wheels as people publish them: index pages, JSON lists, lists of addresses, folders.

This module reads text; `sources` fetches it. What a list says of the torch that a wheel was built
for does not count, because public lists are wrong in places: its name and the wheel itself do.

A page from the network offers https addresses alone; a file offers files of this machine as well,
but none of a share that the user did not name. Other links are kept as refused, with the reason.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html.parser import HTMLParser
from itertools import islice
from typing import Any, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from tritonwin.support.addresses import for_record, is_trusted, is_url, local_path, share_of
from tritonwin.support.wheel_choice import FileSource
from tritonwin.support.wheels import BuiltFor, WheelName, read

MAX_LINKS = 50_000
# Tags and texts of a page, values of a tree: a list of as many links has fewer.
MAX_PARTS = 10 * MAX_LINKS
MAX_ADDRESS = 2500  # characters
_LONG_TAG = re.compile(r"<[^<>]{65536}")
_WORD = re.compile(r"""[^\s|()<>"'`\[\]]+""")
_SUFFIXES = (".whl", ".tar.gz")
_FILE = re.compile(rf"{_WORD.pattern}\.(?:whl|tar\.gz)(?:[?#](?:{_WORD.pattern})?)?")
_HASH = re.compile(r"sha256[=:]([0-9a-f]{64})\b", re.IGNORECASE)
_BAD_HASH = re.compile(r"sha256[=:](?![0-9a-f]{64}\b)", re.IGNORECASE)
_BAD_HASH_IN_TEXT = re.compile(rf"{_BAD_HASH.pattern}[0-9a-z]", re.IGNORECASE)
_OTHER_DIGEST = re.compile(r"(?!sha256)[a-z0-9_-]+[=:]", re.IGNORECASE)
_DIGEST = re.compile(r"(?:sha256[:=])?([0-9a-f]{64})", re.IGNORECASE)
# Hugging Face shows a page at /blob/; the file itself is at /resolve/
_BLOB_PAGE = re.compile(r"^(https://huggingface\.co/[^/]+/[^/]+)/blob/")


@dataclass(frozen=True, kw_only=True)
class WheelLink:
    """A wheel that could be installed: where it is and what the list says of it."""

    location: str  # an address or a path, without its fragment
    source: str  # the list or folder that named it
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, "" where none is given
    metadata: str | None = None  # address of its METADATA alone (PEP 658)
    refused: str | None = None  # the reason why it is never taken nor opened
    index: str | None = None  # the index below which pip finds it by name and version

    @property
    def file(self) -> str:
        path = urlsplit(self.location).path if is_url(self.location) else self.location
        return unquote(re.split(r"[/\\]", path)[-1])

    @property
    def local(self) -> bool:
        return local_path(self.location) is not None

    @cached_property
    def name(self) -> WheelName:
        """The parts of its name; raises WheelNameError."""
        return read(self.file)

    def as_file(self) -> FileSource:
        """The wheel as the file of a plan."""
        return FileSource(
            name=self.name.distribution,
            version=str(self.name.version),
            location=for_record(self.location),
            sha256=self.sha256,
            size=self.size,
        )

    @property
    def built_for(self) -> BuiltFor:
        """The torch and CUDA of its name."""
        return self.name.built_for


def read_list(text: str, base: str, source: str) -> tuple[WheelLink, ...]:
    """The wheels and source archives that a text names, whatever its kind, each once.

    Kinds: a page of an index (PEP 503, PEP 691), a JSON list such as the public `wheels.json` or
    GitHub's list of releases, a plain or Markdown list of addresses.

    Args:
        base: the address of the list itself, which relative addresses are relative to; "" for an
            address that the user wrote.
        source: how the list is called in reasons.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start in {"{", "["}:
        with contextlib.suppress(ValueError, RecursionError):
            return read_json(json.loads(text), base, source)
    if start == "<":
        page_base, entries = _in_html(text, base)
        return _links(entries, base, source, page_base)
    return _links(_in_lines(text), base, source)


def read_json(tree: Any, base: str, source: str) -> tuple[WheelLink, ...]:
    """The wheels that a list in JSON names, each once; arguments as for `read_list`."""
    return _links(_in_json(tree), base, source)


# An address, and what stands beside it, by the names of PEP 691.
_Entry: TypeAlias = tuple[str, Mapping[str, Any]]


def _links(
    entries: Iterable[_Entry], page: str, source: str, base: str | None = None
) -> tuple[WheelLink, ...]:
    """The links of the entries of `page`; `base` is what their addresses are relative to."""
    found: dict[str, WheelLink] = {}
    for address, entry in islice(entries, 2 * MAX_LINKS):
        with contextlib.suppress(ValueError):  # an address with half a bracket
            link = _link(address, entry, page, source, base or page)
            found.setdefault(link.location, link)
        if len(found) >= MAX_LINKS:
            break
    return tuple(found.values())


def _link(address: str, entry: Mapping[str, Any], page: str, source: str, base: str) -> WheelLink:
    plain, fragment = urldefrag(address.strip())
    location = _BLOB_PAGE.sub(r"\1/resolve/", urljoin(base, plain) if page else plain)
    hashes, in_fragment = entry.get("hashes"), _HASH.search(fragment)
    texts = [hashes.get("sha256")] if isinstance(hashes, dict) else []
    texts += [entry.get(name) for name in ("sha256", "digest", "hash")]
    texts = [x for x in texts if not (isinstance(x, str) and (not x or _OTHER_DIGEST.match(x)))]
    beside = next((x for x in texts if x is not None), None)
    digest = _DIGEST.fullmatch(beside) if isinstance(beside, str) else None
    said = {found[1].lower() for found in (in_fragment, digest) if found}
    malformed = _BAD_HASH.search(fragment) or (beside is not None and not digest) or len(said) > 1
    size, python, yanked = (entry.get(name) for name in ("size", "requires-python", "yanked"))
    apart = entry.get("core-metadata") or entry.get("dist-info-metadata")
    refused = "its hash is malformed, or one of two that differ" if malformed else None
    return WheelLink(
        location=location,
        source=source,
        sha256=None if malformed or not said else said.pop(),
        size=size if type(size) is int else None,
        requires_python=python if isinstance(python, str) else None,
        yanked=yanked if isinstance(yanked, str) else "" if yanked is True else None,
        metadata=f"{location}.metadata" if apart else None,
        refused=not_offered(plain, location, page) or refused,
    )


def not_offered(written: str, location: str, page: str) -> str | None:
    """The reason why a page may not offer a location; None where it may.

    Args:
        written: the address as the page has it.
        location: that, joined with the page's base.
    """
    if not page:
        return None
    try:
        scheme, offering = urlsplit(location).scheme, urlsplit(page).scheme
    except ValueError:
        return "it has no usable address"
    if any(character < " " for character in location):
        return "it has no usable address"
    trusted = scheme in {"http", "https"} and is_trusted(location)
    if offering in {"http", "https"}:
        # http of this machine, from a page that came by it
        if trusted and offering in {"http", scheme}:
            return None
        return "a page from the network may offer https addresses alone"
    if scheme in {"http", "https"}:
        return None if trusted else "its address is not https"
    if scheme not in {"", "file"} and len(scheme) > 1:  # one letter: a drive
        return f"{scheme}: is no address of a wheel"
    allowed = {None, share_of(page)}
    if share_of(written) not in allowed or share_of(location) not in allowed:
        return "it lies on a share that was not named: name its folder with --find-links"
    return None


def _in_lines(text: str) -> Iterator[_Entry]:
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        found = [address for word in _WORD.findall(line) if (address := _file_in(word))]
        entry: dict[str, str] = {}
        if len(found) == 1:  # a hash elsewhere in the line belongs to it
            hashes = _HASH.findall(line)
            if _BAD_HASH_IN_TEXT.search(line):
                entry["sha256"] = "malformed"
            elif len(hashes) == 1:
                entry["sha256"] = hashes[0]
        yield from ((address, entry) for address in found)


def _file_in(word: str) -> str | None:
    found = _FILE.match(word) if len(word) <= MAX_ADDRESS else None
    return found[0] if found else None


def _is_file(value: object) -> bool:
    return isinstance(value, str) and bool(_WORD.fullmatch(value)) and _file_in(value) == value


class _LongPageError(Exception):
    """A page has more parts than any list of wheels."""


class _Anchors(HTMLParser):
    """Collect the anchors of a page, and the base that it may set for them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.base: str | None = None
        self.found: list[dict[str, str | None]] = []
        self._parts = 0

    def updatepos(self, i: int, j: int) -> int:
        """Count the parts of the page: each passes here."""
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise _LongPageError
        return super().updatepos(i, j)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get("href")
        if not address or len(address) > MAX_ADDRESS:
            return
        if tag == "a":
            self.found.append(values)
        elif tag == "base" and self.base is None:
            self.base = address


def _in_html(text: str, page: str) -> tuple[str, list[_Entry]]:
    """The base of a page, and the files of its anchors."""
    found, base = _Anchors(), page
    # AssertionError: Python's parser, of "<![DOCTYPE"
    with contextlib.suppress(AssertionError, _LongPageError):
        found.feed(text if _LONG_TAG.search(text) is None else "")
    with contextlib.suppress(ValueError):
        base = urljoin(page, found.base or "")
    entries: list[_Entry] = []
    for anchor in found.found:
        with contextlib.suppress(ValueError):  # an address with half a bracket
            if urlsplit(urldefrag(anchor["href"] or "")[0]).path.endswith(_SUFFIXES):
                said = {name.removeprefix("data-"): value or "" for name, value in anchor.items()}
                apart = {"core-metadata", "dist-info-metadata"} & said.keys()
                said |= dict.fromkeys(apart, "true")  # stated without a value as well
                entries.append((anchor["href"] or "", said))
    return base, entries


def _in_json(tree: Any) -> Iterator[_Entry]:
    """Every wheel in the tree: an address, with the hash and the versions that stand beside it."""
    to_do = [tree]  # from the end; Python would recurse less deep than its reader of JSON does
    for _ in range(MAX_PARTS):
        if not to_do:
            return
        node = to_do.pop()
        if isinstance(node, str):
            yield node, {}
        elif isinstance(node, list):
            to_do += [v for v in reversed(node) if isinstance(v, (list, dict)) or _is_file(v)]
        else:
            named = [v for v in node.values() if _is_file(v)]
            addresses = [v for v in named if is_url(v)] or [v for v in named if "/" in v]
            yield from ((address, node) for address in addresses or named[:1])
            to_do += [v for v in reversed(node.values()) if isinstance(v, (list, dict))]
