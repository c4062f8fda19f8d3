"""Get a file that is known by its name and its hash: from a folder, its address, or pip's index."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import urljoin

from tritonwin.journal.tree import file_hash
from tritonwin.support import download
from tritonwin.support.download import DownloadError, NotFoundError
from tritonwin.support.pip import Pip, Places, configured_places
from tritonwin.system.files import is_file

_JSON_OR_HTML = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5"}


@dataclass(frozen=True, kw_only=True)
class Depot:
    """Where files may come from.

    Attributes:
        folders: looked into first, in this order.
        offline: nothing is fetched.
    """

    pip: Pip
    folders: Sequence[Path] = field(default=())
    offline: bool = False

    @cached_property
    def places(self) -> Places:
        return configured_places(self.pip)

    def obtain(
        self, project: str, file: str, sha256: str, into: Path, url: str | None = None
    ) -> Path:
        """The file, in one of the folders or fetched into the folder `into`; its hash is checked.

        Args:
            project: the normalised name under which an index lists the file.

        Raises:
            DownloadError: it is nowhere to be had, or has another hash.
        """
        for folder in (into, *self.folders):
            path = folder / file
            if is_file(path) and file_hash(path) == sha256:
                return path
        if self.offline:
            raise DownloadError(
                f"{file} is needed, and nothing may be fetched",
                "Put it into a folder and name that: --find-links DIR",
            )
        into.mkdir(parents=True, exist_ok=True)
        download.fetch(url or self.address(project, file), into / file, sha256=sha256)
        return into / file

    def address(self, project: str, file: str) -> str:
        """Where an index has the file; raises NotFoundError."""
        for page in self._pages(project):
            try:
                text = download.read(page, headers=_JSON_OR_HTML).decode("utf-8", "replace")
            except NotFoundError:
                continue
            if (found := address_in(text, file)) is not None:
                return urljoin(page, found)
        raise NotFoundError(
            f"no index that pip is configured for has {file}",
            "Put it into a folder and name that: --find-links DIR",
        )

    def _pages(self, project: str) -> Iterator[str]:
        for index in (self.places.index, *self.places.extra_indexes):
            if index is not None and download.is_trusted(index):
                page = f"{index.rstrip('/')}/{project}/"
                local = download.local_path(page)
                # an address again: what the page links to is relative to it, and percent-encoded
                yield page if local is None else (local.absolute() / "index.html").as_uri()


def address_in(page: str, file: str) -> str | None:
    """The address that an index page gives for a file, whether the page is JSON or HTML."""
    pattern = rf"""["']((?:[^"'\s]{{0,2000}}/)?{re.escape(file)})["'#]"""
    # in JSON the bare name stands beside the address
    return max(map(html.unescape, re.findall(pattern, page)), key=len, default=None)
