"""The Requires-Dist lines of a wheel that is not installed."""

from __future__ import annotations

import zipfile
from email.parser import HeaderParser

from tritonwin.support import download
from tritonwin.support.archive_damage import DAMAGE, opened
from tritonwin.support.download import DownloadError
from tritonwin.support.links import WheelLink

_LIMIT = 4 * 1024 * 1024


def requires(link: WheelLink, *, offline: bool = False) -> tuple[str, ...] | None:
    """What the wheel asks for; None where its metadata cannot be had without the whole wheel."""
    path = download.local_path(link.location)
    if path is not None:
        return _of_file(str(path), link)
    # some mirrors serve the metadata of PEP 658 without saying so
    address = link.metadata or (f"{link.location}.metadata" if link.index else None)
    if address is None or offline:
        return None
    try:
        return _lines(download.read(address, limit=_LIMIT))
    except DownloadError:
        return None


def _of_file(path: str, link: WheelLink) -> tuple[str, ...] | None:
    prefix = "-".join(link.file.split("-")[:2])
    try:
        with zipfile.ZipFile(path) as wheel:
            member = wheel.getinfo(f"{prefix}.dist-info/METADATA")
            with opened(wheel, member) as stream:
                content = stream.read(_LIMIT + 1)
            return _lines(content) if len(content) <= _LIMIT else None
    except (OSError, *DAMAGE):
        return None


def _lines(content: bytes) -> tuple[str, ...]:
    headers = HeaderParser().parsestr(content.decode("utf-8", "replace"), headersonly=True)
    return tuple(" ".join(str(line).split()) for line in headers.get_all("Requires-Dist", []))
