"""Files of wheels: fetched and looked into before pip, or anything else, reads them."""

from __future__ import annotations

import atexit
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from email.parser import HeaderParser
from functools import cache
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from tritonwin.support import download
from tritonwin.support.archives import DAMAGE, Allowance, TooMuchError, opened
from tritonwin.support.download import DownloadError
from tritonwin.support.versions import parse
from tritonwin.support.wheels import WheelName, WheelNameError, read
from tritonwin.system.scratch import scratch_folder

METADATA_LIMIT = 4 * 2**20  # bytes of a METADATA; torch's has 30,000
_INFO_LIMIT = 64 * 2**20  # bytes of any other file of the metadata: RECORD
_LARGEST = 8 * 2**30  # bytes of one file: a library of torch has 1.5 GiB
_MOST = 32 * 2**30  # bytes of all files together


class WheelRefusedError(DownloadError):
    """A wheel that is not what its name says, or that exceeds a bound."""


@cache
def _folder() -> Path:
    """A folder for the wheels that this process fetched, gone at its end."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(scratch_folder())


_fetched: dict[tuple[str, str | None], Path] = {}


def obtain(
    location: str, sha256: str | None, progress: Callable[[int], None] | None = None
) -> Path:
    """The wheel at an address or a path as a file of this machine, checked. Fetched once.

    Args:
        sha256: None where the user allowed a wheel without a hash.

    Raises:
        DownloadError: it cannot be fetched, or has another hash.
        WheelRefusedError: see `fault`.
    """
    path = download.local_path(location)
    if path is None:
        key = (location, sha256)
        if key not in _fetched:
            to = Path(tempfile.mkdtemp(dir=_folder()), read(location).file)
            download.fetch(location, to, sha256=sha256, progress=progress)
            _fetched[key] = to
        path = _fetched[key]
    if (wrong := fault(path)) is not None:
        raise WheelRefusedError(
            f"{download.without_secrets(location)} is refused: {wrong}", "Do not install it."
        )
    return path


def fault(path: Path) -> str | None:
    """The reason why the wheel at a path must not be handed to pip; None where there is none.

    Its METADATA has to state the name and version of its file name. A public version where the file
    name adds a local one is taken: makers of extensions rename their wheels so.
    """
    try:
        name = read(path.name)
        with zipfile.ZipFile(path) as wheel:
            headers = HeaderParser().parsestr(_metadata(wheel, path.stat().st_size), True)
    except TooMuchError as error:
        return str(error)
    except WheelNameError as error:
        return f"not a valid wheel name ({error})"
    except (OSError, *DAMAGE) as error:
        return f"it is damaged ({error})"
    said = [str(value).strip() for value in headers.get_all("Name", [])]
    if [canonicalize_name(value) for value in said] != [name.distribution]:
        return f"its own metadata calls it {', '.join(said)[:100] or 'nothing'}"
    versions = [str(value).strip() for value in headers.get_all("Version", [])]
    if len(versions) != 1 or not _same_version(versions[0], name):
        return f"its own metadata says version {', '.join(versions)[:100] or 'nothing'}"
    return None


def _same_version(text: str, name: WheelName) -> bool:
    found = parse(text)
    return found is not None and (
        found == name.version or (found.local is None and str(found) == name.version.public)
    )


def _metadata(wheel: zipfile.ZipFile, packed: int) -> str:
    """The text of METADATA, once all members are within bounds.

    Raises:
        TooMuchError: they are not.
        ValueError: there is no metadata, or more than one.
    """
    allowance = Allowance(packed, largest=_LARGEST, most=_MOST)
    infos = set()
    for member in wheel.infolist():
        allowance.take(member.filename, member.file_size)
        top = PurePosixPath(member.filename).parts[:1]
        if not top or not top[0].lower().endswith(".dist-info"):
            continue
        infos.add(top[0])
        name = member.filename.rpartition("/")[2]
        if member.file_size > (METADATA_LIMIT if name == "METADATA" else _INFO_LIMIT):
            raise TooMuchError(f"{member.filename} is too large: {member.file_size:,} bytes")
    if len(infos) != 1:
        raise ValueError(f"{len(infos)} folders of metadata")
    with opened(wheel, wheel.getinfo(f"{infos.pop()}/METADATA")) as stream:
        return stream.read(METADATA_LIMIT).decode("utf-8", "replace")
