"""Fetch a file: over https alone, with a limit for time and size, and held to its hash."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from email.message import Message
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from tritonwin import __version__
from tritonwin.journal.tree import file_hash
from tritonwin.support.addresses import (
    DownloadError,
    as_written,
    checked,
    local_path,
    without_secrets,
)
from tritonwin.system.access import hold
from tritonwin.system.files import is_file, names_in
from tritonwin.system.scratch import scratch_folder
from tritonwin.system.waiting import GaveUpError, by_the_clock

_BLOCK = 1024 * 1024
_PART = 64 * 1024  # bytes of one part of a file
_CONTENT_RANGE = re.compile(r"bytes (\d{1,15})-\d{1,15}/(\d{1,15})")
_LARGEST = 8 * 1024**3  # bytes of a file that is fetched
_SECONDS = 3600.0  # for it
_ATTEMPTS = 4
_PAUSE = 0.5  # seconds before a transfer that broke off is taken up


class NotFoundError(DownloadError):
    """The server, or the disk, has nothing at this address."""


class NoAnswerError(DownloadError):
    """The server could not be reached, did not answer in time, or takes no more requests."""


class _UnchangedError(DownloadError):
    """The content still has the ETag that was named."""


def read(
    url: str,
    *,
    limit: int = 64 * 1024 * 1024,
    timeout: float = 60.0,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """The content of an address or of a local path.

    Args:
        limit: refuse more than so many bytes.
        timeout: seconds for the whole transfer.

    Raises:
        NotFoundError: nothing is there.
        DownloadError: any other failure, or an address that is not https, localhost or a file.
    """
    return b"".join(_blocks(url, limit, timeout, headers))


def ask(
    url: str, *, limit: int, timeout: float, headers: Mapping[str, str], etag: str | None = None
) -> tuple[bytes, Message] | None:
    """The content of an address, and the fields of the answer; None where its ETag is the same.

    Args:
        limit, timeout: as for `read`.

    Raises:
        DownloadError: as for `read`; NoAnswerError apart.
    """
    said = Message()
    sent = {**headers, "If-None-Match": etag} if etag else headers
    try:
        return b"".join(_blocks(url, limit, timeout, sent, said)), said
    except _UnchangedError:
        return None


def fetch(
    url: str,
    to: Path,
    *,
    sha256: str | None,
    progress: Callable[[int], None] | None = None,
    parts: Path | None = None,
) -> None:
    """Write the content of an address to the file `to`, which appears only when the hash is right.

    Processes that fetch the same file do not disturb each other: each writes in a folder of its own
    beside it, and the next one removes what a killed one left, or goes on with it.

    Args:
        url: `for_record` may have spelled it.
        sha256: None where none is known and the user allowed that.
        progress: called with the bytes that have come so far.
        parts: a folder on the same disk; a process that is killed leaves there what has come.

    Raises:
        DownloadError: as for `read`, or the content has another hash.
    """
    url, until = as_written(url), time.monotonic() + _SECONDS
    with _part(to, parts, sha256) as part:
        for left in reversed(range(_ATTEMPTS)):
            had = is_file(part)
            try:
                found = _transfer(url, part, sha256, until, progress)
                break
            except NoAnswerError:
                # a hash shows later that all parts are of one file
                if not left or sha256 is None or not part.stat().st_size:
                    raise
                time.sleep(_PAUSE)
            except DownloadError:
                if not left or not had:
                    raise
                part.unlink()  # what came before may be the fault
        try:
            part.replace(to)
        except PermissionError:  # on Windows: another process was quicker, and has it open
            if not is_file(to) or file_hash(to) != found:
                raise


@contextmanager
def _part(to: Path, parts: Path | None, sha256: str | None) -> Iterator[Path]:
    """A file for what comes, gone after the block; in `parts` it stays if this process is killed.

    One process at a time has that folder; it takes away the parts of other files that were left.
    """
    held = hold(parts / "held") if parts and sha256 else None
    if parts is None or held is None:
        with scratch_folder(to.parent) as folder:
            yield folder / "part"
        return
    part = parts / f"{sha256}.part"
    try:
        for name in names_in(parts):
            if name.endswith(".part") and name != part.name:
                (parts / name).unlink()
        yield part
    finally:
        with suppress(OSError):  # on Windows a virus scanner may have it open
            part.unlink(missing_ok=True)
        os.close(held)


def _transfer(
    url: str,
    part: Path,
    sha256: str | None,
    until: float,
    progress: Callable[[int], None] | None,
) -> str:
    """Fetch what the file lacks; the hash of all of it.

    From a server that sends no rest it comes from the beginning again.
    """
    digest, said, shown = hashlib.sha256(), Message(), without_secrets(url)
    with part.open("a+b") as stream:
        stream.seek(0)
        while block := stream.read(_BLOCK):
            digest.update(block)
        start = stream.tell()
        headers = {"Range": f"bytes={start}-"} if start else {}
        seconds = max(until - time.monotonic(), 0.001)
        for block in _blocks(url, _LARGEST, seconds, headers, said):
            if start and "Content-Range" not in said:
                stream.truncate(0)
                digest, start = hashlib.sha256(), 0
            elif start and not said["Content-Range"].startswith(f"bytes {start}-"):
                raise DownloadError(f"{shown} broke off, and its rest is not to be had")
            stream.write(block)
            digest.update(block)
            if progress:
                progress(stream.tell())
    if sha256 is not None and digest.hexdigest() != sha256.lower():
        raise DownloadError(
            f"{shown} has the hash {digest.hexdigest()}, not {sha256}",
            "It was damaged on its way, or replaced. Do not install it.",
        )
    return digest.hexdigest()


class NoRangesError(DownloadError):
    """The server sends whole files alone, or more would have to be read than is allowed."""


class RangedFile(io.RawIOBase):
    """A file on a server, read in parts, each once; use it as a file of this machine.

    Attributes:
        size: of the file.
        taken: bytes that came.
    """

    def __init__(self, url: str, *, most: int, timeout: float) -> None:
        """Read the beginning of a file.

        Args:
            most: bytes that may come in all.
            timeout: seconds for all of it.

        Raises:
            NoRangesError: the server does not send parts.
            DownloadError: as for `read`.
        """
        self._url, self._most, self._until = url, most, time.monotonic() + timeout
        self._parts: dict[int, bytes] = {}
        self._at = self.taken = self.size = 0
        # not the end: some storage knows no ranges that count from there
        self._fetch(0)

    def _fetch(self, number: int) -> None:
        start, said, content = number * _PART, Message(), b""
        wanted = {"Range": f"bytes={start}-{start + _PART - 1}"}
        seconds = max(self._until - time.monotonic(), 0.001)
        for block in _blocks(self._url, 2 * _BLOCK, seconds, wanted, said):
            if "Content-Range" not in said:
                break
            content += block
        found = _CONTENT_RANGE.fullmatch(said.get("Content-Range", ""))
        self.taken += len(content)
        first, size = (int(found[1]), int(found[2])) if found else (-1, 0)
        if first != start or not content or len(content) != min(_PART, size - start):
            raise NoRangesError(f"{without_secrets(self._url)} is not sent in parts")
        self._parts[number], self.size = content, size

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer, or a part of it; raises NoRangesError beyond `most`."""
        if self._at >= self.size:
            return 0
        number, offset = divmod(self._at, _PART)
        if number not in self._parts:
            if self.taken + _PART > self._most:
                raise NoRangesError(f"more than {self._most} bytes would have to be read")
            self._fetch(number)
        piece = self._parts[number][offset:][: len(buffer)]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


def _blocks(
    url: str,
    limit: int,
    timeout: float,
    headers: Mapping[str, str] = MappingProxyType({}),
    said: Message | None = None,
) -> Iterator[bytes]:
    """The content in blocks; the fields of the server's answer are added to `said`."""
    shown, done = without_secrets(url), 0
    try:
        with closing(by_the_clock(lambda: _stream(url, timeout, headers, said), timeout)) as blocks:
            for block in blocks:
                done += len(block)
                if done > limit:
                    raise DownloadError(
                        f"{shown} is larger than {limit} bytes",
                        "Look at what that address gives, or name another.",
                    )
                yield block
    except GaveUpError:
        raise NoAnswerError(
            f"{shown} did not come in time",
            "Try again, or fetch it by hand and give the file.",
        ) from None
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in {404, 410}:
            raise NotFoundError(f"nothing is at {shown} (HTTP {error.code})") from None
        if error.code == 304:
            raise _UnchangedError(f"{shown} is unchanged") from None
        said_limit = error.headers.get("X-RateLimit-Remaining") == "0"
        if error.code == 429 or (
            error.code == 403 and (said_limit or "Retry-After" in error.headers)
        ):
            raise NoAnswerError(
                f"{shown}: its limit of requests is reached",
                "Wait, or work with local files; a token in GITHUB_TOKEN raises that of GitHub.",
            ) from None
        raise DownloadError(
            f"{shown}: HTTP {error.code} {error.reason}",
            "Try again, or fetch it by hand and give the file.",
        ) from None
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {shown}") from None
    except (OSError, HTTPException, ValueError) as error:
        # ValueError: a name that no host can have, a redirect that is no address, a NUL in a path
        reason = getattr(error, "reason", None) or error
        advice = "Check the connection (a proxy is named in HTTPS_PROXY), or work with local files."
        if isinstance(reason, ssl.SSLCertVerificationError):
            advice = "Name your company's certificates in the variable SSL_CERT_FILE."
        raise NoAnswerError(f"{shown} could not be read: {reason}", advice) from None


def _stream(
    url: str, timeout: float, headers: Mapping[str, str], said: Message | None
) -> Iterator[bytes]:
    path, done = local_path(url), 0
    with path.open("rb") if path is not None else _asked(url, timeout, headers) as stream:
        for name, value in getattr(stream, "headers", {}).items():
            if said is not None:
                said.add_header(name, value)
        while block := stream.read1(_BLOCK):
            done += len(block)
            yield block
    length = said.get("Content-Length", "") if said is not None else ""
    if re.fullmatch("[0-9]{1,18}", length) and done < int(length):
        raise OSError(f"it broke off after {done} of {length} bytes")


def _asked(url: str, timeout: float, headers: Mapping[str, str]) -> io.BufferedIOBase:
    parts = checked(url)
    sent = {"User-Agent": f"tritonwin/{__version__}", **headers}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        sent["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    clean = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    request = urllib.request.Request(clean, headers=sent)  # noqa: S310 - the scheme is checked
    opener = urllib.request.build_opener(_CheckedRedirects())  # with the proxies of now
    stream: io.BufferedIOBase = opener.open(request, timeout=timeout)
    return stream


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follow a redirect only to a trusted address, and to another host without the password."""

    def http_error_302(self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:  # it leads to what is no address
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], *answer: Any
    ) -> urllib.request.Request | None:
        """Check the new address, the last part of the answer."""
        newurl: str = answer[-1]
        try:
            target = checked(newurl)
            if urlsplit(req.full_url).scheme == "https" != target.scheme:
                raise DownloadError(
                    f"{without_secrets(req.full_url)} leads on to an address that is not https",
                    "Name another address, or fetch it by hand and give the file.",
                )
        except DownloadError:
            fp.close()
            raise
        follow = super().redirect_request(req, fp, *answer)
        if follow is not None and target.hostname != urlsplit(req.full_url).hostname:
            follow.remove_header("Authorization")
        return follow
