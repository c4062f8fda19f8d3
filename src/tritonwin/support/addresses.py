"""Addresses and paths of files: what may be fetched, and how they are shown without secrets."""

from __future__ import annotations

import re
import urllib.request
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from tritonwin.errors import UserError
from tritonwin.facts.redaction.redactor import hide_secrets

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
# a user before an "@", wherever the slashes stand
_USER = re.compile(r"[^/?#]*/{2,}[^/?#]*@")
_SHARE = re.compile(r"/{2,}(.*)", re.DOTALL)
_LONG_DRIVE = re.compile(r"\?/[a-z]:")


class DownloadError(UserError):
    """Something could not be fetched, or its address may not be used."""


def is_url(text: str) -> bool:
    return "://" in text


def without_secrets(url: str) -> str:
    """The address without user name, password and tokens, for printing."""
    try:
        parts = urlsplit(url)
        shown = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    except ValueError:  # an invalid address may still hold a password
        return hide_secrets(url.rpartition("@")[2])
    # "x://a@//b@host", "x:////b@host": what comes next now stands, or is read, in its place
    return hide_secrets(url.rpartition("@")[2] if _USER.match(shown) else shown)


_with_secrets: dict[str, str] = {}  # by the spelling in records


def for_record(location: str) -> str:
    """The spelling of an address that is shown and kept, which `as_written` knows."""
    if not is_url(location) or (clean := without_secrets(location)) == location:
        return location
    _with_secrets[clean] = location
    return clean


def as_written(location: str) -> str:
    """The address behind a spelling of `for_record`; any other location as it is."""
    return _with_secrets.get(location, location)


def local_path(location: str) -> Path | None:
    """The path of a `file:` address or a plain path; None for other addresses."""
    if not is_url(location):
        return Path(location)
    if not location.lower().startswith("file:"):
        return None
    parts = split(location)
    path = urllib.request.url2pathname(parts.path)
    return Path(path if parts.netloc.lower() in {"", "localhost"} else f"//{parts.netloc}{path}")


def share_of(location: str) -> str | None:
    r"""The host of a path on another machine; None for addresses and for paths of this one.

    `\\host\share`, `//host/share`, `file://host/share`, `\\?\UNC\host\share`. Drives and links that
    lead to a share cannot be told without asking them.
    """
    text = location
    if is_url(location) or location.lower().startswith("file:"):
        parts = split(location)
        if parts.scheme != "file":
            return None
        if parts.netloc.lower() not in {"", "localhost"}:
            return parts.netloc.lower()
        text = parts.path
    found = _SHARE.match(unquote(text).replace("\\", "/").lower())
    if found is None or _LONG_DRIVE.match(found[1]):
        return None
    return found[1].removeprefix("?/unc/").removeprefix("./unc/").partition("/")[0]


def is_trusted(location: str) -> bool:
    """True for an address that may be fetched from: https, this machine, or a file."""
    try:
        if local_path(location) is None:
            checked(location)
    except DownloadError:
        return False
    return True


def split(url: str) -> SplitResult:
    """The parts of an address; raises DownloadError for one that has none."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise DownloadError(
            f"no usable address: {without_secrets(url)} ({error})",
            "An address begins with https:// and a host's name.",
        ) from None


def checked(url: str) -> SplitResult:
    """The parts of an address of https or of this machine; raises DownloadError for others."""
    parts = split(url)
    host = parts.hostname
    if parts.scheme == "https" and host:
        return parts
    if parts.scheme == "http" and host in _LOCAL_HOSTS:
        return parts
    raise DownloadError(
        f"{without_secrets(url)} is not https", "Only https, localhost and local files are used."
    )
